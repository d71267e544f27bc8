using System;
using System.Collections.Generic;

namespace Tactus
{
    /// <summary>Why a sequence ended.</summary>
    public enum FinishReason
    {
        /// <summary>It has not.</summary>
        NotFinished = Native.TACTUS_FINISH_NOT_FINISHED,
        /// <summary>The model ended it.</summary>
        EndOfSequence = Native.TACTUS_FINISH_END_OF_SEQUENCE,
        /// <summary>It reached its limit, or the end of the context.</summary>
        MaxLength = Native.TACTUS_FINISH_MAX_LENGTH,
        /// <summary>Somebody stopped it.</summary>
        Cancelled = Native.TACTUS_FINISH_CANCELLED,
        /// <summary>It failed.</summary>
        Error = Native.TACTUS_FINISH_ERROR,
        /// <summary>A stop string ended it.</summary>
        StopWords = Native.TACTUS_FINISH_STOP_WORDS,
    }

    /// <summary>Natural logarithms at temperature 1 at one position.</summary>
    public sealed class Logprobs
    {
        /// <summary>Of the token itself.</summary>
        public float Logprob { get; internal set; }
        /// <summary>The most probable tokens, descending.</summary>
        public int[] TopIds { get; internal set; }
        /// <summary>Theirs.</summary>
        public float[] TopLogprobs { get; internal set; }
    }

    /// <summary>What one sequence gave.</summary>
    public sealed class Result
    {
        /// <summary>The text, ending before a stop string.</summary>
        public string Text { get; internal set; }
        /// <summary>The token ids.</summary>
        public int[] Ids { get; internal set; }
        /// <summary>Why it ended.</summary>
        public FinishReason FinishReason { get; internal set; }
        /// <summary>Tokens of the prompt.</summary>
        public uint InputTokens { get; internal set; }
        /// <summary>How many of them were not run, because their keys and values were still there.</summary>
        public uint ReusedTokens { get; internal set; }
        /// <summary>The seed in use.</summary>
        public ulong Seed { get; internal set; }
        /// <summary>The limit of output tokens in force.</summary>
        public uint MaxTokens { get; internal set; }
        /// <summary>The index in the request, or what <see cref="Stepped.Admit"/> was given.</summary>
        public int OriginalIndex { get; internal set; }
        /// <summary>Things a user should know that are no errors.</summary>
        public string[] Warnings { get; internal set; }
        /// <summary>What ended it, where that was an error; else null.</summary>
        public TactusException Error { get; internal set; }
        /// <summary>Per token; empty where they were not asked for.</summary>
        public Logprobs[] Logprobs { get; internal set; }
        /// <summary>A row for each prompt token; null where <see cref="Request.HiddenLayer"/> did not ask for them.</summary>
        public float[][] HiddenStates { get; internal set; }
    }

    /// <summary>The results of a dispatch, in the request's order. It holds nothing of the library.</summary>
    public sealed class Response
    {
        /// <summary>The results.</summary>
        public IReadOnlyList<Result> Results { get; private set; }

        /// <summary>The response in the OpenAI shape.</summary>
        public string Json { get; private set; }

        /// <summary>Seconds from the dispatch to its end, and to its first token; null where the dispatch was not profiled.</summary>
        public double? TotalSeconds { get; private set; }
        /// <summary>Seconds to the first token.</summary>
        public double? FirstTokenSeconds { get; private set; }

        /// <summary>Copies a response out of the library and gives it back.</summary>
        internal Response(ResponseHandle handle)
        {
            using (handle)
            {
                UIntPtr count;
                Library.Check(Native.tactus_response_sequence_count(handle, out count));
                var results = new Result[(int)count.ToUInt32()];
                for (int sequence = 0; sequence < results.Length; sequence++)
                    results[sequence] = Read(handle, sequence);
                Results = results;
                StringHandle json;
                Library.Check(Native.tactus_response_to_json(handle, out json));
                Json = Library.Take(json);
                double value;
                if (Native.tactus_response_timing(handle, Native.TACTUS_TIMING_TOTAL_SECONDS, out value) == Native.TACTUS_OK)
                    TotalSeconds = value;
                if (Native.tactus_response_timing(handle, Native.TACTUS_TIMING_FIRST_TOKEN_SECONDS, out value) == Native.TACTUS_OK)
                    FirstTokenSeconds = value;
            }
        }

        private static Result Read(ResponseHandle handle, int sequence)
        {
            IntPtr data, values;
            UIntPtr count;
            int reason, status, index, given;
            uint input, reused, most;
            ulong seed;
            float logprob;
            var result = new Result();
            Library.Check(Native.tactus_response_text(handle, sequence, out data, out count));
            result.Text = Library.Text(data, count);
            Library.Check(Native.tactus_response_output_ids(handle, sequence, out data, out count));
            result.Ids = Library.Ids(data, count);
            Library.Check(Native.tactus_response_finish_reason(handle, sequence, out reason));
            result.FinishReason = (FinishReason)reason;
            Library.Check(Native.tactus_response_input_tokens(handle, sequence, out input, out reused));
            result.InputTokens = input;
            result.ReusedTokens = reused;
            Library.Check(Native.tactus_response_seed(handle, sequence, out seed, out given));
            result.Seed = seed;
            Library.Check(Native.tactus_response_max_generate_length(handle, sequence, out most));
            result.MaxTokens = most;
            Library.Check(Native.tactus_response_original_index(handle, sequence, out index));
            result.OriginalIndex = index;
            Library.Check(Native.tactus_response_error(handle, sequence, out status, out data, out count));
            if (status != Native.TACTUS_OK)
                result.Error = Library.ErrorOf(status, Library.Text(data, count));
            Library.Check(Native.tactus_response_warning_count(handle, sequence, out count));
            result.Warnings = new string[(int)count.ToUInt32()];
            for (int at = 0; at < result.Warnings.Length; at++)
            {
                Library.Check(Native.tactus_response_warning(handle, sequence, new UIntPtr((uint)at), out data, out count));
                result.Warnings[at] = Library.Text(data, count);
            }
            Library.Check(Native.tactus_response_logprob_count(handle, sequence, out count));
            result.Logprobs = new Logprobs[(int)count.ToUInt32()];
            for (int at = 0; at < result.Logprobs.Length; at++)
            {
                var position = new UIntPtr((uint)at);
                Library.Check(Native.tactus_response_logprobs(handle, sequence, position, out logprob, out data, out values, out count));
                result.Logprobs[at] = new Logprobs
                {
                    Logprob = logprob, TopIds = Library.Ids(data, count), TopLogprobs = Library.Floats(values, count),
                };
            }
            UIntPtr rows;
            if (Native.tactus_response_hidden_states(handle, sequence, out data, out rows, out count) == Native.TACTUS_OK)
            {
                result.HiddenStates = new float[(int)rows.ToUInt32()][];
                for (int row = 0; row < result.HiddenStates.Length; row++)
                    result.HiddenStates[row] = Library.Floats(new IntPtr(data.ToInt64() + 4L * row * (long)count.ToUInt64()), count);
            }
            return result;
        }
    }
}
