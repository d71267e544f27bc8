using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Tactus
{
    /// <summary>A call of the library that failed, with the library's own message.</summary>
    public sealed class TactusException : Exception
    {
        internal TactusException(int status, string name, string message) : base(name + ": " + message)
        {
            Status = (Status)status;
            StatusName = name;
        }

        /// <summary>What kind of failure it is; programs match on it.</summary>
        public Status Status { get; private set; }

        /// <summary>The status's name, such as CONTEXT_FULL.</summary>
        public string StatusName { get; private set; }

        /// <summary>Figures of ContextFull and NoCapacity: prompt, requested and limit. Null where the failure has none.</summary>
        public ulong[] Figures { get; internal set; }

        /// <summary>The response, where a dispatch failed and nevertheless has results.</summary>
        public Response Response { get; internal set; }
    }

    /// <summary>The statuses of failed calls.</summary>
    public enum Status
    {
        /// <summary>A value is malformed, out of range, or of an object that was disposed.</summary>
        InvalidArgument = Native.TACTUS_ERR_INVALID_ARGUMENT,
        /// <summary>A file, a shard, a tensor or a name does not exist.</summary>
        NotFound = Native.TACTUS_ERR_NOT_FOUND,
        /// <summary>The system refused to read or write.</summary>
        Io = Native.TACTUS_ERR_IO,
        /// <summary>A file is malformed.</summary>
        Format = Native.TACTUS_ERR_FORMAT,
        /// <summary>A model, a stored type or a combination that the library does not do.</summary>
        Unsupported = Native.TACTUS_ERR_UNSUPPORTED,
        /// <summary>The chat template does not parse or does not accept the messages.</summary>
        Template = Native.TACTUS_ERR_TEMPLATE,
        /// <summary>The vocabulary cannot be used, or a text cannot be encoded.</summary>
        Tokenizer = Native.TACTUS_ERR_TOKENIZER,
        /// <summary>Prompt and requested output do not fit into the context.</summary>
        ContextFull = Native.TACTUS_ERR_CONTEXT_FULL,
        /// <summary>No seat or no page is free.</summary>
        NoCapacity = Native.TACTUS_ERR_NO_CAPACITY,
        /// <summary>Another call runs on the coordinator. Nothing was changed.</summary>
        Busy = Native.TACTUS_ERR_BUSY,
        /// <summary>A callback or another thread asked to stop.</summary>
        Cancelled = Native.TACTUS_ERR_CANCELLED,
        /// <summary>A CUDA call failed.</summary>
        Cuda = Native.TACTUS_ERR_CUDA,
        /// <summary>A rank was lost, or a collective failed.</summary>
        Collective = Native.TACTUS_ERR_COLLECTIVE,
        /// <summary>Host memory ran out.</summary>
        OutOfMemory = Native.TACTUS_ERR_OUT_OF_MEMORY,
        /// <summary>The call does not fit what was done before.</summary>
        State = Native.TACTUS_ERR_STATE,
        /// <summary>A defect of the library. The object can only be disposed.</summary>
        Internal = Native.TACTUS_ERR_INTERNAL,
        /// <summary>The time ran out before there was anything.</summary>
        Timeout = Native.TACTUS_ERR_TIMEOUT,
        /// <summary>A device stopped working.</summary>
        DeviceLost = Native.TACTUS_ERR_DEVICE_LOST,
        /// <summary>The object was made before this process was forked.</summary>
        Forked = Native.TACTUS_ERR_FORKED,
        /// <summary>Device memory ran out.</summary>
        DeviceOutOfMemory = Native.TACTUS_ERR_DEVICE_OUT_OF_MEMORY,
    }

    /// <summary>Owns one handle: given back when it is disposed or forgotten, and never while a call uses it.</summary>
    internal abstract class TactusHandle : SafeHandle
    {
        protected TactusHandle() : base(IntPtr.Zero, true) { }

        public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
    }

    /// <summary>A line of the library's log.</summary>
    public struct LogLine
    {
        /// <summary>1 errors … 5 traces.</summary>
        public int Level;
        /// <summary>The line.</summary>
        public string Text;
    }

    /// <summary>The shared library. It is loaded once per process, by <see cref="Load"/> or with the first object made.</summary>
    public static class Library
    {
        private const int Now = 2;

        private static readonly object Lock = new object();
        private static bool loaded;

        [DllImport("libdl.so.2")]
        private static extern IntPtr dlopen(byte[] path, int flags);

        [DllImport("libdl.so.2")]
        private static extern IntPtr dlsym(IntPtr library, byte[] name);

        [DllImport("libdl.so.2")]
        private static extern IntPtr dlerror();

        /// <summary>
        /// Loads the library at a path, or by a name that the system's loader finds, and checks its ABI version. Once it is loaded,
        /// nothing more happens. Throws DllNotFoundException, and BadImageFormatException where it is no Tactus or its ABI is older than
        /// this code.
        /// </summary>
        public static void Load(string path = "libtactus.so.0")
        {
            lock (Lock)
            {
                if (loaded)
                    return;
                var library = dlopen(Bytes(path + "\0"), Now);
                if (library == IntPtr.Zero)
                    throw new DllNotFoundException(Marshal.PtrToStringAnsi(dlerror()));
                Func<string, IntPtr> find = name =>
                {
                    var function = dlsym(library, Bytes(name + "\0"));
                    if (function == IntPtr.Zero)
                        throw new BadImageFormatException(path + ": no function " + name + ", expected a Tactus library", path);
                    return function;
                };
                var version = Marshal.GetDelegateForFunctionPointer<Native.AbiVersionFunction>(find("tactus_abi_version"));
                if (version() < Native.AbiVersion)
                    throw new BadImageFormatException(path + ": ABI version " + version() + ", expected at least " + Native.AbiVersion, path);
                Native.Bind(find);
                loaded = true;
            }
        }

        /// <summary>The library's version, such as 0.1.0.</summary>
        public static string Version { get { Load(); return Marshal.PtrToStringAnsi(Native.tactus_version()); } }

        /// <summary>The ABI version of the loaded library.</summary>
        public static int AbiVersion { get { Load(); return Native.tactus_abi_version(); } }

        /// <summary>What the library can do, as JSON: "architectures", "stored_types" and "devices".</summary>
        public static string Capabilities()
        {
            Load();
            StringHandle text;
            Check(Native.tactus_capabilities_json(out text));
            return Take(text);
        }

        /// <summary>Keeps the last lines up to a level (1 errors … 5 traces; 0 ends it) for <see cref="LogLines"/>.</summary>
        public static void KeepLog(int level, int capacity)
        {
            Load();
            Check(Native.tactus_log_set_queue(level, new UIntPtr((uint)capacity)));
        }

        /// <summary>Takes the log lines that wait.</summary>
        public static List<LogLine> LogLines()
        {
            Load();
            var lines = new List<LogLine>();
            while (true)
            {
                int level;
                StringHandle text;
                Check(Native.tactus_log_pop(out level, out text));
                if (level == Native.TACTUS_LOG_OFF)
                    return lines;
                lines.Add(new LogLine { Level = level, Text = Take(text) });
            }
        }

        internal static void Check(int status)
        {
            if (status != Native.TACTUS_OK)
                throw Error(status);
        }

        /// <summary>The failure that this thread's last call reported.</summary>
        internal static TactusException Error(int status)
        {
            // Lengths are read by the thread that failed, before it calls anything else.
            var error = ErrorOf(status, Text(Native.tactus_last_error_message(), Native.tactus_last_error_message_length()));
            ulong prompt, requested, limit;
            if (Native.tactus_last_error_capacity(out prompt, out requested, out limit) == Native.TACTUS_OK)
                error.Figures = new[] { prompt, requested, limit };
            return error;
        }

        internal static TactusException ErrorOf(int status, string message)
        {
            return new TactusException(status, Marshal.PtrToStringAnsi(Native.tactus_status_name(status)), message);
        }

        internal static byte[] Bytes(string text)
        {
            if (text == null)
                throw new ArgumentNullException("text");
            return Encoding.UTF8.GetBytes(text);
        }

        /// <summary>Text as the library takes it. An empty array has no address, so an empty text is an array of one and the length 0.</summary>
        internal static byte[] View(string text, out UIntPtr length)
        {
            var bytes = Bytes(text);
            length = new UIntPtr((uint)bytes.Length);
            return bytes.Length == 0 ? new byte[1] : bytes;
        }

        internal static string Text(IntPtr data, UIntPtr length)
        {
            return Encoding.UTF8.GetString(Copy(data, length));
        }

        internal static byte[] Copy(IntPtr data, UIntPtr length)
        {
            var bytes = new byte[checked((int)length.ToUInt64())];
            if (bytes.Length > 0)
                Marshal.Copy(data, bytes, 0, bytes.Length);
            return bytes;
        }

        internal static int[] Ids(IntPtr data, UIntPtr count)
        {
            var ids = new int[checked((int)count.ToUInt64())];
            if (ids.Length > 0)
                Marshal.Copy(data, ids, 0, ids.Length);
            return ids;
        }

        internal static float[] Floats(IntPtr data, UIntPtr count)
        {
            var values = new float[checked((int)count.ToUInt64())];
            if (values.Length > 0)
                Marshal.Copy(data, values, 0, values.Length);
            return values;
        }

        internal static ulong[] Names(IntPtr data, UIntPtr count)
        {
            var values = new long[checked((int)count.ToUInt64())];
            if (values.Length > 0)
                Marshal.Copy(data, values, 0, values.Length);
            return Array.ConvertAll(values, value => unchecked((ulong)value));
        }

        /// <summary>The bytes of a text that the library made; the text is given back.</summary>
        internal static byte[] TakeBytes(StringHandle text)
        {
            using (text)
            {
                IntPtr data;
                UIntPtr length;
                Check(Native.tactus_string_get(text, out data, out length));
                return Copy(data, length);
            }
        }

        internal static string Take(StringHandle text)
        {
            return Encoding.UTF8.GetString(TakeBytes(text));
        }

        internal static int[] Take(IdsHandle ids)
        {
            using (ids)
            {
                IntPtr data;
                UIntPtr count;
                Check(Native.tactus_ids_get(ids, out data, out count));
                return Ids(data, count);
            }
        }
    }
}
