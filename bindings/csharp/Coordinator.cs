using System;
using System.Threading;

namespace Tactus
{
    /// <summary>
    /// Runs requests on a model, one dispatch at a time; another one meanwhile throws Status.Busy. Any thread may use it.
    /// </summary>
    public sealed class Coordinator : IDisposable
    {
        internal readonly CoordinatorHandle Handle;

        /// <summary>Loads the model that a configuration names, or takes its artifacts.</summary>
        public Coordinator(Config config)
        {
            Library.Check(Native.tactus_coordinator_create(config.Handle, out Handle));
        }

        /// <summary>On a model, with every default.</summary>
        public Coordinator(string engineDir)
        {
            using (var config = new Config(engineDir))
                Library.Check(Native.tactus_coordinator_create(config.Handle, out Handle));
        }

        /// <summary>
        /// Runs a request to its end. A cancelled token ends its sequences within a step and throws OperationCanceledException. Where a
        /// single sequence fails its error is thrown, with the others' results in its Response.
        /// </summary>
        public Response Dispatch(Request request, CancellationToken cancellation = default(CancellationToken), bool profile = false)
        {
            cancellation.ThrowIfCancellationRequested();
            if (!cancellation.CanBeCanceled)
                return Run(request, profile);
            var channels = new ChannelHandle[request.Count];
            try
            {
                for (int sequence = 0; sequence < channels.Length; sequence++)
                {
                    Library.Check(Native.tactus_channel_create(out channels[sequence]));
                    Library.Check(Native.tactus_request_set_channel(request.Handle, sequence, channels[sequence]));
                }
                Response response;
                using (cancellation.Register(() => Array.ForEach(channels, channel => Native.tactus_channel_cancel(channel))))
                    response = Run(request, profile);
                foreach (var result in response.Results)
                    if (result.FinishReason == FinishReason.Cancelled)
                        cancellation.ThrowIfCancellationRequested();
                return response;
            }
            finally
            {
                for (int sequence = 0; sequence < channels.Length && channels[sequence] != null; sequence++)
                {
                    using (var none = new ChannelHandle())
                        Native.tactus_request_set_channel(request.Handle, sequence, none);
                    channels[sequence].Dispose();
                }
            }
        }

        /// <summary>Runs a request of one sequence on a thread of its own; its output comes as it is generated.</summary>
        public TokenStream Stream(Request request, CancellationToken cancellation = default(CancellationToken), int interval = 1)
        {
            return new TokenStream(this, request, cancellation, interval);
        }

        /// <summary>Opens an execution whose every step the caller decides. It holds the coordinator until it ends.</summary>
        public Stepped BeginStepped(Request request, ulong requestId = 1)
        {
            SteppedHandle stepped;
            Library.Check(Native.tactus_coordinator_begin_stepped(Handle, request.Handle, requestId, 0, IntPtr.Zero, out stepped));
            return new Stepped(stepped);
        }

        /// <summary>The number of prompt tokens of every sequence.</summary>
        public int[] CountPromptTokens(Request request)
        {
            IdsHandle counts;
            Library.Check(Native.tactus_coordinator_count_prompt_tokens(Handle, request.Handle, out counts));
            return Library.Take(counts);
        }

        /// <summary>Model, backend, limits and metrics, as JSON.</summary>
        public string Info()
        {
            StringHandle text;
            Library.Check(Native.tactus_coordinator_info_json(Handle, out text));
            return Library.Take(text);
        }

        /// <summary>Computes a system prompt's keys and values, and keeps them until they are removed.</summary>
        public void SaveSystemPrompt(string prompt)
        {
            UIntPtr length;
            var text = Library.View(prompt, out length);
            Library.Check(Native.tactus_coordinator_gen_and_save_system_prompt_kv_cache(Handle, text, length, IntPtr.Zero));
        }

        /// <summary>Lets a saved prompt go.</summary>
        public void RemoveSystemPrompt(string prompt)
        {
            UIntPtr length;
            var text = Library.View(prompt, out length);
            Library.Check(Native.tactus_coordinator_remove_system_prompt(Handle, text, length));
        }

        /// <summary>Gives it back, after a dispatch that runs on another thread.</summary>
        public void Dispose()
        {
            Handle.Dispose();
        }

        internal Response Run(Request request, bool profile)
        {
            int status = Native.tactus_coordinator_dispatch_request(Handle, request.Handle, profile ? 1 : 0, IntPtr.Zero);
            var error = status == Native.TACTUS_OK ? null : Library.Error(status);
            ResponseHandle handle;
            int taken = Native.tactus_coordinator_take_rank_response(Handle, 0, out handle);
            if (error == null)
                Library.Check(taken);
            var response = taken == Native.TACTUS_OK ? new Response(handle) : null;
            if (error == null)
                return response;
            error.Response = response; // null where the request was refused as a whole
            throw error;
        }
    }
}
