// Tests of the C# side: Tests LIBRARY MODEL [CHAT_MODEL]. Each public static method of Tests is one; the program answers 1 where one fails.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;
using Tactus;

public static class Tests
{
    private static string library, model, chatModel;

    public static int Main(string[] arguments)
    {
        library = arguments[0];
        model = arguments[1];
        chatModel = arguments.Length > 2 ? arguments[2] : null;
        if (library == "old")
            return Throws<BadImageFormatException>(() => Library.Load(model), "ABI version 0, expected at least") ? 0 : 1;
        if (library == "strange")
            return Throws<BadImageFormatException>(() => Library.Load(model), "no function tactus_abi_version") ? 0 : 1;
        if (library == "missing")
            return Throws<DllNotFoundException>(() => Library.Load(model), "") ? 0 : 1;
        Library.Load(library);
        Library.Load(library); // again: nothing
        int passed = 0, failed = 0;
        foreach (var test in typeof(Tests).GetMethods(BindingFlags.Public | BindingFlags.Static).Where(method => method.Name != "Main"))
        {
            try
            {
                test.Invoke(null, null);
                passed++;
            }
            catch (TargetInvocationException e)
            {
                Console.WriteLine(test.Name + ": " + e.InnerException);
                failed++;
            }
        }
        Console.WriteLine(passed + " passed, " + failed + " failed");
        return failed == 0 && passed > 0 ? 0 : 1;
    }

    private static void Check(bool holds, string what)
    {
        if (!holds)
            throw new Exception("does not hold: " + what);
    }

    private static bool Throws<T>(Action action, string part) where T : Exception
    {
        try
        {
            action();
        }
        catch (T e)
        {
            Check(e.Message.Contains(part), e.Message + ", expected " + part);
            return true;
        }
        return false;
    }

    private static TactusException Fails(Status status, Action action)
    {
        try
        {
            action();
        }
        catch (TactusException e)
        {
            Check(e.Status == status, e + ", expected " + status);
            return e;
        }
        throw new Exception("nothing was thrown, expected " + status);
    }

    private static Coordinator Small(long maxLength = 0)
    {
        using (var config = Config.FromJson("{\"kv_type\": \"f32\", \"engine_dir\": \"" + model + "\"}"))
        {
            config.CpuThreads = 1;
            config.MaxSequenceLength = maxLength;
            return new Coordinator(config);
        }
    }

    private static Request Ids(long tokens, params int[] ids)
    {
        var request = new Request();
        request.AddIds(ids);
        return request.MaxTokens(tokens).IgnoreEos();
    }

    public static void VersionsAndCapabilities()
    {
        Check(Library.AbiVersion >= 1 && Library.Version.Contains("."), Library.Version);
        Check(Library.Capabilities().Contains("llama"), Library.Capabilities());
        Library.KeepLog(3, 100);
        Small().Dispose();
        var lines = Library.LogLines();
        Library.KeepLog(0, 0);
        Check(lines.Count > 0 && lines.All(line => line.Level >= 1 && line.Level <= 3 && line.Text != ""), "lines of the log");
    }

    public static void ErrorsHaveTheirStatusAndTheLibrarysMessage()
    {
        var error = Fails(Status.NotFound, () => new Coordinator("/nowhere/é"));
        Check(error.StatusName == "NOT_FOUND" && error.Message.Contains("/nowhere/é"), error.Message);
        Check(Fails(Status.InvalidArgument, () => Config.FromJson("{\"nonsense\": 1}")).Message.Contains("nonsense"), "key named");
        using (var coordinator = Small(64))
        {
            error = Fails(Status.ContextFull, () => coordinator.Dispatch(Ids(1, Enumerable.Repeat(5, 100).ToArray())));
            Check(error.Figures[0] == 100 && error.Figures[2] == 64 && error.Response == null, "figures");
        }
        var closed = Small();
        closed.Dispose();
        closed.Dispose();
        Check(Throws<ObjectDisposedException>(() => closed.Dispatch(Ids(1, 7)), ""), "a disposed object says so");
        Check(Throws<ArgumentNullException>(() => new Request().AddText(null), ""), "null is refused");
    }

    public static void ABatchAndItsResults()
    {
        using (var config = new Config(model))
        using (var artifacts = new Artifacts(config))
        using (var shared = new Config(artifacts) { CpuThreads = 1 })
        using (var coordinator = new Coordinator(shared))
        using (var request = new Request())
        {
            request.AddIds(7, 20);
            request.AddIds(9);
            request.MaxTokens(5).IgnoreEos().NumLogprobs(2).Seed(4).MaxTokens(3, 1);
            var response = coordinator.Dispatch(request, profile: true);
            Result first = response.Results[0], second = response.Results[1];
            Check(first.Ids.Length == 5 && second.Ids.Length == 3 && first.FinishReason == FinishReason.MaxLength, "lengths");
            Check(first.Seed == 4 && second.InputTokens == 1 && second.OriginalIndex == 1 && first.Error == null, "figures");
            Check(first.Logprobs.Length == 5 && first.Logprobs[0].TopIds.Length == 2, "log-probabilities");
            Check(first.Logprobs[0].TopLogprobs[0] >= first.Logprobs[0].TopLogprobs[1], "descending");
            Check(response.TotalSeconds > 0 && response.Json.Contains("\"choices\""), response.Json);
            var states = coordinator.Dispatch(Ids(2, 7, 20, 33).HiddenLayer(-1)).Results[0].HiddenStates;
            Check(states.Length == 3 && states[2].Length == states[0].Length && states[2].Any(value => value != 0), "hidden states");
            var alone = coordinator.Dispatch(Ids(5, 7, 20));
            Check(alone.Results[0].HiddenStates == null, "none where none were asked for");
            Check(alone.Results[0].Ids.SequenceEqual(first.Ids) && alone.TotalSeconds == null, "a batch changes nothing");
            Check(coordinator.CountPromptTokens(request).SequenceEqual(new[] { 2, 1 }), "counts");
            var ids = artifacts.Tokenize("a b c", addSpecial: false);
            Check(artifacts.Detokenize(ids) == "a b c" && artifacts.Detokenize(new int[0]) == "", "text");
            Check(Encoding.UTF8.GetString(ids.SelectMany(artifacts.TokenBytes).ToArray()).Trim() == "a b c", "bytes");
            Check(artifacts.Info().Contains("\"llama\"") && coordinator.Info().Contains("limits"), "descriptions");
            Fails(Status.NotFound, () => coordinator.RemoveSystemPrompt("never saved"));
        }
    }

    public static void ChunksJoinedAreTheResponse()
    {
        using (var coordinator = Small())
        using (var stream = coordinator.Stream(Ids(40, 7, 20, 33), interval: 3))
        {
            var chunks = stream.ToList();
            var result = stream.Response.Results[0];
            Check(string.Concat(chunks.Select(chunk => chunk.Text)) == result.Text, result.Text);
            Check(chunks.SelectMany(chunk => chunk.Ids).SequenceEqual(result.Ids), "ids");
            Check(chunks.Last().Finished && chunks.Last().Reason == FinishReason.MaxLength && stream.Read() == null, "the last one");
            using (var refused = coordinator.Stream(Ids(5, 7).TopP(7)))
                Fails(Status.InvalidArgument, () => refused.Read());
            using (var stepped = coordinator.BeginStepped(Ids(9, 7)))
            using (var busy = coordinator.Stream(Ids(9, 7)))
                Fails(Status.Busy, () => busy.Read());
            var two = Ids(5, 7);
            two.AddText("a");
            Check(Throws<ArgumentException>(() => coordinator.Stream(two), "2 sequences"), "one at a time");
        }
    }

    public static void TheEndOfATokenEndsADispatch()
    {
        using (var coordinator = Small())
        {
            foreach (var how in new[] { "before", "dispatch", "stream", "break", "dispose" })
            {
                var source = new CancellationTokenSource();
                if (how == "before")
                {
                    source.Cancel();
                    Check(Throws<OperationCanceledException>(() => coordinator.Dispatch(Ids(5, 7), source.Token), ""), how);
                }
                else if (how == "dispatch")
                {
                    source.CancelAfter(2);
                    var request = Ids(220, 7);
                    try
                    {
                        Check(coordinator.Dispatch(request, source.Token).Results[0].Ids.Length == 220, how);
                    }
                    catch (OperationCanceledException) { }
                    Check(coordinator.Dispatch(request.MaxTokens(3)).Results[0].Ids.Length == 3, "the request is as it was");
                }
                else if (how == "stream")
                {
                    using (var stream = coordinator.Stream(Ids(220, 7), source.Token))
                    {
                        Check(stream.Read() != null, how);
                        source.Cancel();
                        try
                        {
                            while (stream.Read() != null) { }
                            Check(stream.Response.Results[0].Ids.Length == 220, how);
                        }
                        catch (OperationCanceledException)
                        {
                            Check(stream.Response.Results[0].FinishReason == FinishReason.Cancelled, how);
                        }
                    }
                }
                else if (how == "break")
                {
                    foreach (var chunk in coordinator.Stream(Ids(220, 7)))
                        if (chunk.Ids.Length > 0)
                            break;
                }
                else
                {
                    coordinator.Stream(Ids(220, 7)).Dispose();
                }
                Check(coordinator.Dispatch(Ids(2, 7)).Results[0].Ids.Length == 2, "after " + how);
            }
        }
    }

    public static void APollThatIsTooShortSaysSo()
    {
        using (var coordinator = Small())
        {
            int empty = 0;
            // The one chunk comes after 200 tokens; only a machine that stands still lets it come before the first poll.
            for (int round = 0; round < 20 && empty == 0; round++)
                using (var stream = coordinator.Stream(Ids(200, 7), interval: 1000))
                {
                    Chunk chunk = null, last = null;
                    do
                    {
                        if (!stream.TryRead(TimeSpan.Zero, out chunk))
                            empty++;
                        else
                            last = chunk ?? last;
                    }
                    while (chunk != null || last == null);
                    Check(last.Finished && last.Ids.Length == 200, "one chunk has everything");
                }
            Check(empty > 0, "a poll found nothing");
        }
    }

    public static void SteppedExecutionSaysWhatADispatchSays()
    {
        using (var coordinator = Small())
        {
            var expected = new[] { Ids(6, 7, 20), Ids(6, 9, 9, 9) }.Select(r => coordinator.Dispatch(r).Results[0].Ids).ToArray();
            using (var stepped = coordinator.BeginStepped(Ids(6, 7, 20)))
            {
                var joiner = stepped.Admit(Ids(6, 9, 9, 9), 5, 2);
                Fails(Status.State, () => stepped.Decode(joiner));
                var said = new List<int>();
                var waiting = new Dictionary<ulong, uint> { { joiner, 100 } };
                while (stepped.Residents().Length > 0)
                {
                    stepped.Step(waiting, stepped.Residents().Where(r => !waiting.ContainsKey(r)).ToArray());
                    waiting.Clear();
                    int[] gained;
                    if (stepped.Deltas().TryGetValue(joiner, out gained))
                        said.AddRange(gained);
                    Result ended;
                    if (stepped.Finished().TryGetValue(joiner, out ended))
                        Check(ended.OriginalIndex == 5 && ended.Ids.SequenceEqual(expected[1]), "the joiner");
                }
                Check(said.SequenceEqual(expected[1]) && stepped.Finish().Results[0].Ids.SequenceEqual(expected[0]), "the founder");
                Fails(Status.State, () => stepped.Residents());
            }
        }
    }

    /// Collections at every moment, while handles are made, used, shared between threads and forgotten.
    public static void TheCollectorNeverTakesWhatIsInUse()
    {
        var stop = false;
        var collector = new Thread(() =>
        {
            while (!Volatile.Read(ref stop))
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        });
        collector.Start();
        var failures = new List<Exception>();
        var workers = Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            try
            {
                for (int round = 0; round < 15; round++)
                {
                    Check(Small().Dispatch(Ids(8, 7, 20)).Results[0].Ids.Length == 8, "dispatched on what nobody holds");
                    Check(Small().Stream(Ids(8, 7, 20)).SelectMany(chunk => chunk.Ids).Count() == 8, "streamed from what nobody holds");
                    Check(new Artifacts(new Config(model)).Tokenize("a b").Length > 0, "tokenised by what nobody holds");
                }
            }
            catch (Exception e)
            {
                lock (failures)
                    failures.Add(e);
            }
        })).ToArray();
        Array.ForEach(workers, worker => worker.Start());
        Array.ForEach(workers, worker => worker.Join());
        Volatile.Write(ref stop, true);
        collector.Join();
        if (failures.Count > 0)
            throw failures[0];
    }

    public static void ASchemaHoldsOnAChatModel()
    {
        if (chatModel == null)
            return;
        using (var coordinator = new Coordinator(chatModel))
        using (var request = Request.Chat("Name the capital of France as JSON.").MaxTokens(60))
        {
            request.Guide(GuideKind.JsonSchema, "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"maxLength\": 20}},"
                + " \"required\": [\"city\"], \"additionalProperties\": false}");
            var text = coordinator.Dispatch(request).Results[0].Text;
            Check(text.StartsWith("{") && text.EndsWith("}") && text.Contains("\"city\""), text);
        }
    }
}
