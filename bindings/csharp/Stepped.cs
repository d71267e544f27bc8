using System;
using System.Collections.Generic;

namespace Tactus
{
    /// <summary>
    /// An execution whose every step the caller decides. Residents, the sequences in it, are named by numbers that never come to mean
    /// another one.
    /// </summary>
    public sealed class Stepped : IDisposable
    {
        private readonly SteppedHandle handle;

        internal Stepped(SteppedHandle handle)
        {
            this.handle = handle;
        }

        /// <summary>Those that live, longest resident first.</summary>
        public ulong[] Residents()
        {
            IntPtr data;
            UIntPtr count;
            Library.Check(Native.tactus_stepped_residents(handle, out data, out count));
            return Library.Names(data, count);
        }

        /// <summary>Brings a request of one sequence in. Status.NoCapacity says that there is no room now.</summary>
        public ulong Admit(Request request, int originalIndex, ulong requestId)
        {
            ulong resident;
            Library.Check(Native.tactus_stepped_admit(handle, request.Handle, originalIndex, requestId, out resident));
            return resident;
        }

        /// <summary>Runs the next chunk of a resident's prompt, and answers how many tokens of it remain.</summary>
        public uint Prefill(ulong resident)
        {
            uint remaining;
            Library.Check(Native.tactus_stepped_prefill(handle, resident, out remaining));
            return remaining;
        }

        /// <summary>One token for each resident.</summary>
        public void Decode(params ulong[] residents)
        {
            Library.Check(Native.tactus_stepped_decode(handle, residents, new UIntPtr((uint)residents.Length)));
        }

        /// <summary>Chunks of prompts (so many tokens of each resident) and tokens in one pass of the model.</summary>
        public void Step(IDictionary<ulong, uint> prefill, ulong[] decode)
        {
            // An array of one more: an empty one has no address.
            var who = new ulong[prefill.Count + 1];
            var tokens = new uint[prefill.Count + 1];
            prefill.Keys.CopyTo(who, 0);
            prefill.Values.CopyTo(tokens, 0);
            var names = new ulong[decode.Length + 1];
            decode.CopyTo(names, 0);
            var (chunks, count) = (new UIntPtr((uint)prefill.Count), new UIntPtr((uint)decode.Length));
            Library.Check(Native.tactus_stepped_step(handle, who, tokens, chunks, names, count));
        }

        /// <summary>The tokens that residents gained in the last step.</summary>
        public Dictionary<ulong, int[]> Deltas()
        {
            UIntPtr count, length;
            IntPtr data;
            ulong resident;
            var gained = new Dictionary<ulong, int[]>();
            Library.Check(Native.tactus_stepped_delta_count(handle, out count));
            for (uint delta = 0; delta < count.ToUInt32(); delta++)
            {
                Library.Check(Native.tactus_stepped_delta(handle, new UIntPtr(delta), out resident, out data, out length));
                gained[resident] = Library.Ids(data, length);
            }
            return gained;
        }

        /// <summary>The results of those that ended in the last step.</summary>
        public Dictionary<ulong, Result> Finished()
        {
            IntPtr data;
            UIntPtr count;
            var ended = new Dictionary<ulong, Result>();
            Library.Check(Native.tactus_stepped_finished(handle, out data, out count));
            var names = Library.Names(data, count);
            if (names.Length == 0)
                return ended;
            ResponseHandle response;
            Library.Check(Native.tactus_stepped_finished_response(handle, out response));
            var results = new Response(response).Results;
            for (int at = 0; at < names.Length; at++)
                ended[names[at]] = results[at];
            return ended;
        }

        /// <summary>Ends a resident now, as cancelled.</summary>
        public void Retire(ulong resident)
        {
            Library.Check(Native.tactus_stepped_retire(handle, resident));
        }

        /// <summary>Ends the execution, in which nobody lives any more; answers the founding request's response.</summary>
        public Response Finish()
        {
            ResponseHandle response;
            Library.Check(Native.tactus_stepped_finish(handle, out response));
            return new Response(response);
        }

        /// <summary>Ends the execution and everyone in it.</summary>
        public void Abort()
        {
            Library.Check(Native.tactus_stepped_abort(handle));
        }

        /// <summary>Gives it back, aborting it where it has not ended.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
