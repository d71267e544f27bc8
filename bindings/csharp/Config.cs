using System;

namespace Tactus
{
    /// <summary>
    /// Configuration of a coordinator or of artifacts. What is made from it copies it, so it can be changed and used again. The comments
    /// of tactus_config_set_* in tactus.h say what each setting means.
    /// </summary>
    public sealed class Config : IDisposable
    {
        internal readonly ConfigHandle Handle;

        /// <summary>Every default, and the model: a .gguf file, or a Hugging Face directory.</summary>
        public Config(string engineDir)
        {
            Library.Load();
            Library.Check(Native.tactus_config_create(out Handle));
            UIntPtr length;
            var path = Library.View(engineDir, out length);
            Library.Check(Native.tactus_config_set_engine_dir(Handle, path, length));
        }

        /// <summary>Every default, and a model that is loaded already.</summary>
        public Config(Artifacts artifacts)
        {
            Library.Load();
            Library.Check(Native.tactus_config_create(out Handle));
            Library.Check(Native.tactus_config_set_artifacts(Handle, artifacts.Handle));
        }

        private Config(ConfigHandle handle)
        {
            Handle = handle;
        }

        /// <summary>From the JSON object of tactus_config_from_json.</summary>
        public static Config FromJson(string json)
        {
            Library.Load();
            UIntPtr length;
            var text = Library.View(json, out length);
            ConfigHandle handle;
            Library.Check(Native.tactus_config_from_json(text, length, out handle));
            return new Config(handle);
        }

        /// <summary>Threads that compute; 0: one per core.</summary>
        public int CpuThreads { set { Library.Check(Native.tactus_config_set_cpu_threads(Handle, value)); } }

        /// <summary>Sequences that can be resident at once; 0: 8.</summary>
        public int MaxBatch { set { Library.Check(Native.tactus_config_set_max_batch(Handle, value)); } }

        /// <summary>The longest sequence in tokens; 0: what the model was trained for.</summary>
        public long MaxSequenceLength { set { Library.Check(Native.tactus_config_set_max_sequence_length(Handle, value)); } }

        /// <summary>Memory of the KV pool in bytes; 0: chosen at creation.</summary>
        public ulong KvBudgetBytes { set { Library.Check(Native.tactus_config_set_kv_budget_bytes(Handle, value)); } }

        /// <summary>Reads weight files instead of mapping them.</summary>
        public bool ReadWeights
        {
            set { Library.Check(Native.tactus_config_set_weights_access(Handle, value ? Native.TACTUS_WEIGHTS_READ : Native.TACTUS_WEIGHTS_MAP)); }
        }

        /// <summary>Keeps keys and values of finished sequences, of so many at most, for later ones that begin alike; 0: none.</summary>
        public int ContextCacheRecords
        {
            set { Library.Check(Native.tactus_config_set_context_cache(Handle, value > 0 ? 1 : 0, value)); }
        }

        /// <summary>A chat template (Jinja) instead of the model's own.</summary>
        public string ChatTemplate
        {
            set
            {
                UIntPtr length;
                var text = Library.View(value, out length);
                Library.Check(Native.tactus_config_set_chat_template(Handle, text, length));
            }
        }

        /// <summary>Bytes done and bytes in all of the load that runs with it, or ran last; for a thread that watches.</summary>
        public void LoadProgress(out ulong done, out ulong total)
        {
            Library.Check(Native.tactus_config_load_progress(Handle, out done, out total));
        }

        /// <summary>Stops the load that runs with it, or else the next one: it fails with Status.Cancelled.</summary>
        public void CancelLoad()
        {
            Library.Check(Native.tactus_config_cancel_load(Handle));
        }

        /// <summary>Gives it back.</summary>
        public void Dispose()
        {
            Handle.Dispose();
        }
    }

    /// <summary>A loaded model, which coordinators can share.</summary>
    public sealed class Artifacts : IDisposable
    {
        internal readonly ArtifactsHandle Handle;

        /// <summary>Loads the model that a configuration names.</summary>
        public Artifacts(Config config)
        {
            Library.Check(Native.tactus_artifacts_load(config.Handle, out Handle));
        }

        /// <summary>The model's description, as JSON.</summary>
        public string Info()
        {
            StringHandle text;
            Library.Check(Native.tactus_artifacts_info_json(Handle, out text));
            return Library.Take(text);
        }

        /// <summary>Token ids of a text.</summary>
        public int[] Tokenize(string text, bool addSpecial = true, bool parseSpecial = false)
        {
            UIntPtr length;
            var data = Library.View(text, out length);
            IdsHandle ids;
            Library.Check(Native.tactus_artifacts_tokenize(Handle, data, length, addSpecial ? 1 : 0, parseSpecial ? 1 : 0, out ids));
            return Library.Take(ids);
        }

        /// <summary>The text of token ids.</summary>
        public string Detokenize(int[] ids, bool skipSpecial = true)
        {
            StringHandle text;
            var given = ids.Length == 0 ? new int[1] : ids;
            Library.Check(Native.tactus_artifacts_detokenize(Handle, given, new UIntPtr((uint)ids.Length), skipSpecial ? 1 : 0, out text));
            return Library.Take(text);
        }

        /// <summary>The bytes that a token stands for, which can be part of a character.</summary>
        public byte[] TokenBytes(int token)
        {
            StringHandle text;
            Library.Check(Native.tactus_artifacts_token_text(Handle, token, out text));
            return Library.TakeBytes(text);
        }

        /// <summary>The prompt that a chat of a request is rendered to.</summary>
        public string RenderChat(Request request, int sequence = 0)
        {
            StringHandle text;
            Library.Check(Native.tactus_artifacts_render_chat(Handle, request.Handle, sequence, out text));
            return Library.Take(text);
        }

        /// <summary>Gives it back. Coordinators that use it keep the model alive.</summary>
        public void Dispose()
        {
            Handle.Dispose();
        }
    }
}
