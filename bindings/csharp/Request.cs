using System;

namespace Tactus
{
    /// <summary>What a guide's text is.</summary>
    public enum GuideKind
    {
        /// <summary>Any JSON object; the text is empty.</summary>
        JsonObject = Native.TACTUS_GUIDE_JSON_OBJECT,
        /// <summary>A JSON schema.</summary>
        JsonSchema = Native.TACTUS_GUIDE_JSON_SCHEMA,
        /// <summary>A regular expression that the whole output matches.</summary>
        Regex = Native.TACTUS_GUIDE_REGEX,
        /// <summary>A Lark grammar.</summary>
        Grammar = Native.TACTUS_GUIDE_GRAMMAR,
        /// <summary>A JSON array of strings, one of which the output is.</summary>
        Choice = Native.TACTUS_GUIDE_CHOICE,
    }

    /// <summary>
    /// A batch of sequences with their options. It can be changed and dispatched again, by one dispatch at a time. Options are given for a
    /// sequence, or for all that do not say otherwise; the comments of tactus_request_set_* in tactus.h say what each means.
    /// </summary>
    public sealed class Request : IDisposable
    {
        /// <summary>Stands for all sequences, where an option takes an index.</summary>
        public const int AllSequences = Native.TACTUS_ALL_SEQUENCES;

        internal readonly RequestHandle Handle;

        /// <summary>Without sequences.</summary>
        public Request()
        {
            Library.Load();
            Library.Check(Native.tactus_request_create(out Handle));
        }

        private Request(RequestHandle handle)
        {
            Handle = handle;
        }

        /// <summary>From JSON in the OpenAI chat shape with our fields: tactus_request_from_json lists the keys.</summary>
        public static Request FromJson(string json)
        {
            Library.Load();
            UIntPtr length;
            var text = Library.View(json, out length);
            RequestHandle handle;
            Library.Check(Native.tactus_request_from_json(text, length, out handle));
            return new Request(handle);
        }

        /// <summary>A chat of one message of a user.</summary>
        public static Request Chat(string content)
        {
            var request = new Request();
            request.AddMessage(request.AddChat(), "user", content);
            return request;
        }

        /// <summary>The number of sequences.</summary>
        public int Count
        {
            get
            {
                UIntPtr count;
                Library.Check(Native.tactus_request_sequence_count(Handle, out count));
                return (int)count.ToUInt32();
            }
        }

        /// <summary>Adds a chat, and answers its index.</summary>
        public int AddChat()
        {
            int sequence;
            Library.Check(Native.tactus_request_add_chat(Handle, out sequence));
            return sequence;
        }

        /// <summary>Adds a sequence that goes on from a text, and answers its index.</summary>
        public int AddText(string prompt)
        {
            UIntPtr length;
            var text = Library.View(prompt, out length);
            int sequence;
            Library.Check(Native.tactus_request_add_text(Handle, text, length, out sequence));
            return sequence;
        }

        /// <summary>Adds a sequence that goes on from token ids, and answers its index.</summary>
        public int AddIds(params int[] ids)
        {
            int sequence;
            Library.Check(Native.tactus_request_add_ids(Handle, ids, new UIntPtr((uint)ids.Length), out sequence));
            return sequence;
        }

        /// <summary>Adds a message to a chat.</summary>
        public Request AddMessage(int sequence, string role, string content)
        {
            UIntPtr roleLength, contentLength;
            byte[] roleText = Library.View(role, out roleLength), contentText = Library.View(content, out contentLength);
            Library.Check(Native.tactus_request_add_message(Handle, sequence, roleText, roleLength, contentText, contentLength));
            return this;
        }

        /// <summary>Adds a message given as a JSON object in the OpenAI shape.</summary>
        public Request AddMessageJson(int sequence, string json)
        {
            UIntPtr length;
            var text = Library.View(json, out length);
            Library.Check(Native.tactus_request_add_message_json(Handle, sequence, text, length));
            return this;
        }

        /// <summary>0 or more; below 0.001 greedy.</summary>
        public Request Temperature(float value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_temperature(Handle, sequence, value));
        }

        /// <summary>In 0..1; 1 is off.</summary>
        public Request TopP(float value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_top_p(Handle, sequence, value));
        }

        /// <summary>0 is off, 1 greedy.</summary>
        public Request TopK(long value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_top_k(Handle, sequence, value));
        }

        /// <summary>In 0..1; 0 is off.</summary>
        public Request MinP(float value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_min_p(Handle, sequence, value));
        }

        /// <summary>Above 0; 1 is off.</summary>
        public Request RepetitionPenalty(float value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_repetition_penalty(Handle, sequence, value));
        }

        /// <summary>The most tokens of output.</summary>
        public Request MaxTokens(long value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_max_generate_length(Handle, sequence, value));
        }

        /// <summary>Makes draws reproducible.</summary>
        public Request Seed(ulong value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_seed(Handle, sequence, value));
        }

        /// <summary>Asks for log-probabilities of the tokens and of so many (0..50) beside them.</summary>
        public Request NumLogprobs(int value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_num_logprobs(Handle, sequence, value));
        }

        /// <summary>End-of-sequence tokens do not end generation.</summary>
        public Request IgnoreEos(bool value = true, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_ignore_eos(Handle, sequence, value ? 1 : 0));
        }

        /// <summary>Tells the template that the model shall think.</summary>
        public Request EnableThinking(bool value = true, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_enable_thinking(Handle, sequence, value ? 1 : 0));
        }

        /// <summary>Asks for the hidden states of the prompt: 0, the input embeddings; i, the input of layer i; -1, after the final norm.</summary>
        public Request HiddenLayer(int value, int sequence = AllSequences)
        {
            return Did(Native.tactus_request_set_hidden_layer(Handle, sequence, value));
        }

        /// <summary>Adds a stop string.</summary>
        public Request Stop(string value, int sequence = AllSequences)
        {
            UIntPtr length;
            var text = Library.View(value, out length);
            return Did(Native.tactus_request_add_stop(Handle, sequence, text, length));
        }

        /// <summary>Says what the output must be.</summary>
        public Request Guide(GuideKind kind, string guide, int sequence = AllSequences)
        {
            UIntPtr length;
            var text = Library.View(guide, out length);
            return Did(Native.tactus_request_set_guide(Handle, sequence, (int)kind, text, length));
        }

        /// <summary>Tells the template of tools: a JSON array of objects in the OpenAI shape.</summary>
        public Request ToolsJson(string json, int sequence = AllSequences)
        {
            UIntPtr length;
            var text = Library.View(json, out length);
            return Did(Native.tactus_request_set_tools_json(Handle, sequence, text, length));
        }

        /// <summary>Gives it back. A dispatch of it that runs goes on.</summary>
        public void Dispose()
        {
            Handle.Dispose();
        }

        private Request Did(int status)
        {
            Library.Check(status);
            return this;
        }
    }
}
