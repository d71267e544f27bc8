// A conversation: Chat LIBRARY MODEL. A line is a turn; end of input ends it, an interrupt ends an answer.
using System;
using System.Text;
using System.Threading;
using Tactus;

public static class Chat
{
    public static int Main(string[] arguments)
    {
        if (arguments.Length != 2)
        {
            Console.Error.WriteLine("usage: Chat LIBRARY MODEL");
            return 2;
        }
        try
        {
            Library.Load(arguments[0]);
            using (var config = new Config(arguments[1]) { MaxBatch = 1, ContextCacheRecords = 8 })
            using (var coordinator = new Coordinator(config))
            using (var request = new Request().MaxTokens(200))
                Talk(coordinator, request, request.AddChat());
            return 0;
        }
        catch (TactusException e)
        {
            Console.Error.WriteLine(e.Message);
            return 1;
        }
    }

    private static void Talk(Coordinator coordinator, Request request, int sequence)
    {
        CancellationTokenSource source = null;
        Console.CancelKeyPress += (_, interrupt) =>
        {
            interrupt.Cancel = source != null;
            source?.Cancel();
        };
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            request.AddMessage(sequence, "user", line);
            var answer = new StringBuilder();
            source = new CancellationTokenSource();
            try
            {
                using (var stream = coordinator.Stream(request, source.Token))
                    foreach (var chunk in stream)
                    {
                        Console.Write(chunk.Text);
                        answer.Append(chunk.Text);
                    }
            }
            catch (OperationCanceledException)
            {
                // What was said stays said.
            }
            Console.WriteLine();
            source = null;
            request.AddMessage(sequence, "assistant", answer.ToString());
        }
    }
}
