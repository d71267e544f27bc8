using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace Tactus
{
    /// <summary>A piece of the output: whole characters, perhaps none. The texts of all chunks joined are the result's text.</summary>
    public sealed class Chunk
    {
        /// <summary>The text.</summary>
        public string Text { get; internal set; }
        /// <summary>The token ids.</summary>
        public int[] Ids { get; internal set; }
        /// <summary>Whether it is the last one.</summary>
        public bool Finished { get; internal set; }
        /// <summary>Why the sequence ended, where it is the last one.</summary>
        public FinishReason Reason { get; internal set; }
    }

    /// <summary>
    /// A dispatch of one sequence, polled as it goes: <see cref="Read"/>, or foreach. Disposing it, or leaving a foreach early, cancels the
    /// sequence and waits for its end. One thread at a time reads; any may cancel.
    /// </summary>
    public sealed class TokenStream : IEnumerable<Chunk>, IDisposable
    {
        // After which a dispatch that was refused is noticed.
        private const int SliceMilliseconds = 50;

        private readonly ChannelHandle channel;
        private readonly Thread thread;
        private readonly CancellationToken cancellation;
        private readonly CancellationTokenRegistration registration;
        private Response response;
        private Exception error;
        private bool finished;

        internal TokenStream(Coordinator coordinator, Request request, CancellationToken cancellation, int interval)
        {
            if (request.Count != 1)
                throw new ArgumentException("a request of " + request.Count + " sequences to be streamed, expected one", "request");
            cancellation.ThrowIfCancellationRequested();
            this.cancellation = cancellation;
            Library.Check(Native.tactus_channel_create(out channel));
            Library.Check(Native.tactus_channel_set_interval(channel, interval));
            Library.Check(Native.tactus_request_set_channel(request.Handle, 0, channel));
            registration = cancellation.Register(Cancel);
            thread = new Thread(() => Dispatch(coordinator, request)) { IsBackground = true, Name = "tactus-stream" };
            thread.Start();
        }

        private void Dispatch(Coordinator coordinator, Request request)
        {
            try
            {
                response = coordinator.Run(request, false);
            }
            catch (Exception e)
            {
                error = e; // thrown where the stream is read
            }
            finally
            {
                using (var none = new ChannelHandle())
                    Native.tactus_request_set_channel(request.Handle, 0, none);
            }
        }

        /// <summary>
        /// The next chunk; null after the last one. Throws what the dispatch threw, and OperationCanceledException after the last chunk of
        /// a stream whose token was cancelled.
        /// </summary>
        public Chunk Read()
        {
            Chunk chunk;
            while (!TryRead(Timeout.InfiniteTimeSpan, out chunk)) { }
            return chunk;
        }

        /// <summary>As <see cref="Read"/>, waiting no longer than a time; false where it ran out.</summary>
        public bool TryRead(TimeSpan time, out Chunk chunk)
        {
            chunk = null;
            var end = time < TimeSpan.Zero ? DateTime.MaxValue : DateTime.UtcNow + time;
            while (!finished)
            {
                bool over = !thread.IsAlive;
                double left = Math.Min(Math.Max(0, (end - DateTime.UtcNow).TotalMilliseconds), SliceMilliseconds);
                int status = Native.tactus_channel_wait_pop(channel, over ? 0 : (long)left);
                if (status == Native.TACTUS_OK)
                {
                    var popped = Pop();
                    finished = popped.Finished;
                    if (finished && popped.Reason == FinishReason.Error)
                        break;
                    chunk = popped;
                    return true;
                }
                if (status != Native.TACTUS_ERR_TIMEOUT && status != Native.TACTUS_ERR_STATE)
                    throw Library.Error(status);
                if (over)
                    break; // refused: there never was a chunk
                if (DateTime.UtcNow >= end)
                    return false;
            }
            finished = true;
            thread.Join();
            if (error != null)
                ExceptionDispatchInfo.Capture(error).Throw();
            if (response.Results[0].FinishReason == FinishReason.Cancelled)
                cancellation.ThrowIfCancellationRequested();
            return true;
        }

        private Chunk Pop()
        {
            IntPtr data;
            UIntPtr count;
            int last, reason;
            var chunk = new Chunk();
            Library.Check(Native.tactus_channel_chunk_text(channel, out data, out count));
            chunk.Text = Library.Text(data, count);
            Library.Check(Native.tactus_channel_chunk_ids(channel, out data, out count));
            chunk.Ids = Library.Ids(data, count);
            Library.Check(Native.tactus_channel_chunk_finish(channel, out last, out reason));
            chunk.Finished = last != 0;
            chunk.Reason = (FinishReason)reason;
            return chunk;
        }

        /// <summary>Waits for the end and answers the response. Throws what the dispatch threw.</summary>
        public Response Response
        {
            get
            {
                thread.Join();
                if (error != null)
                    ExceptionDispatchInfo.Capture(error).Throw();
                return response;
            }
        }

        /// <summary>Asks for the end; the last chunk still comes.</summary>
        public void Cancel()
        {
            try
            {
                Native.tactus_channel_cancel(channel);
            }
            catch (ObjectDisposedException)
            {
                // Its end has come already.
            }
        }

        /// <summary>The chunks up to the last one.</summary>
        public IEnumerator<Chunk> GetEnumerator()
        {
            try
            {
                Chunk chunk;
                while ((chunk = Read()) != null)
                    yield return chunk;
            }
            finally
            {
                Cancel();
                thread.Join();
            }
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }

        /// <summary>Cancels what still runs, and waits for it.</summary>
        public void Dispose()
        {
            Cancel();
            thread.Join();
            registration.Dispose();
            channel.Dispose();
        }
    }
}
