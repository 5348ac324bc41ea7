import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;

/**
 * The Java kernel: {@code java Kernel REQUESTS_FD ANSWERS_FD}. Code is run by JShell in this process, so that system properties are
 * those of the code. Lines of JSON, as server/channel.py says.
 */
public final class Kernel {
  private final JShell shell;
  private final PrintStream answers;
  private volatile boolean running;

  private Kernel(PrintStream answers) {
    this.answers = answers;
    this.shell = JShell.builder().executionEngine("local").build();
    for (String name : List.of("java.util.*", "java.io.*", "java.math.*", "java.util.function.*", "java.util.stream.*")) {
      shell.eval("import " + name + ";");
    }
  }

  public static void main(String[] arguments) throws Exception {
    try {
      Files.writeString(Path.of("/proc/self/oom_score_adj"), "300");
    } catch (java.io.IOException ignored) {
      // It only says who goes first when memory runs out.
    }
    // Programs of E2B's kernel find the environment as properties.
    System.getenv().forEach((name, value) -> {
      if (System.getProperty(name) == null) System.setProperty(name, value);
    });
    var requests = new FileInputStream("/dev/fd/" + arguments[0]);
    var answers = new PrintStream(new FileOutputStream("/dev/fd/" + arguments[1]), false, StandardCharsets.UTF_8);
    var kernel = new Kernel(answers);
    sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> {
      if (kernel.running) kernel.shell.stop();
    });
    kernel.say("{\"type\":\"ready\"}");
    var reader = new java.io.BufferedReader(new java.io.InputStreamReader(requests, StandardCharsets.UTF_8));
    for (String line; (line = reader.readLine()) != null; ) {
      kernel.execute(new Json(line).object());
    }
    Runtime.getRuntime().halt(0);
  }

  @SuppressWarnings("unchecked")
  private void execute(Map<String, Object> request) {
    var former = new HashMap<String, String>();
    ((Map<String, Object>) request.getOrDefault("env", Map.of())).forEach((name, value) -> {
      former.put(name, System.getProperty(name));
      System.setProperty(name, (String) value);
    });
    running = true;
    try {
      run((String) request.get("code"));
    } catch (RuntimeException error) {
      fail(error.getClass().getName(), error.getMessage(), "");
    } finally {
      running = false;
      former.forEach((name, value) -> {
        if (value == null) System.clearProperty(name);
        else System.setProperty(name, value);
      });
      System.out.flush();
      System.err.flush();
      say("{\"type\":\"done\"}");
    }
  }

  /** Snippet after snippet; the value of the last one is the result. */
  private void run(String code) {
    String rest = code;
    while (!rest.isBlank()) {
      var completion = shell.sourceCodeAnalysis().analyzeCompletion(rest);
      String source = completion.source() == null ? rest : completion.source();
      boolean last = completion.remaining() == null || completion.remaining().isBlank() || completion.source() == null;
      for (SnippetEvent event : shell.eval(source)) {
        if (!passed(event, last)) return;
      }
      rest = last ? "" : completion.remaining();
    }
  }

  private boolean passed(SnippetEvent event, boolean last) {
    if (event.causeSnippet() != null) return true;
    if (event.exception() != null) {
      fail(event.exception());
      return false;
    }
    Snippet snippet = event.snippet();
    if (event.status() == Snippet.Status.REJECTED) {
      String text = String.join("\n", shell.diagnostics(snippet).map((Diag diag) -> diag.getMessage(Locale.ENGLISH)).toList());
      fail("CompilationError", text, text + "\n  " + snippet.source().strip());
      return false;
    }
    boolean shows = snippet.kind() == Snippet.Kind.EXPRESSION || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
    if (last && shows && event.value() != null && !event.value().isEmpty()) {
      say("{\"type\":\"result\",\"main\":true,\"data\":{\"text/plain\":" + Json.string(plain(event.value())) + "}}");
    }
    return true;
  }

  /** JShell shows a string as it stands in a program; a notebook shows what it says. */
  private static String plain(String value) {
    return value.length() > 1 && value.startsWith("\"") && value.endsWith("\"")
        ? value.substring(1, value.length() - 1).translateEscapes()
        : value;
  }

  private void fail(JShellException thrown) {
    String name = thrown instanceof EvalException eval ? eval.getExceptionClassName() : thrown.getClass().getName();
    var trace = new StringBuilder(name + ": " + thrown.getMessage());
    for (StackTraceElement element : thrown.getStackTrace()) trace.append("\n    at ").append(element);
    fail(name, thrown.getMessage(), trace.toString());
  }

  private void fail(String name, String value, String traceback) {
    say("{\"type\":\"error\",\"name\":" + Json.string(name) + ",\"value\":" + Json.string(String.valueOf(value))
        + ",\"traceback\":" + Json.string(traceback) + "}");
  }

  private synchronized void say(String line) {
    answers.println(line);
    answers.flush();
  }

  /** As much JSON as requests have: objects of strings and objects. */
  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    Map<String, Object> object() {
      var object = new HashMap<String, Object>();
      expect('{');
      while (peek() != '}') {
        String name = string();
        expect(':');
        object.put(name, peek() == '{' ? object() : string());
        if (peek() == ',') at++;
      }
      at++;
      return object;
    }

    private String string() {
      expect('"');
      var value = new StringBuilder();
      for (char next; (next = text.charAt(at++)) != '"'; ) {
        if (next != '\\') {
          value.append(next);
          continue;
        }
        char escape = text.charAt(at++);
        if (escape == 'u') {
          value.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
          at += 4;
        } else {
          int index = "nrtbf".indexOf(escape);
          value.append(index < 0 ? escape : "\n\r\t\b\f".charAt(index));
        }
      }
      return value.toString();
    }

    private char peek() {
      while (Character.isWhitespace(text.charAt(at))) at++;
      return text.charAt(at);
    }

    private void expect(char wanted) {
      if (peek() != wanted) throw new IllegalArgumentException("expected " + wanted + " at " + at);
      at++;
    }

    static String string(String value) {
      var quoted = new StringBuilder("\"");
      for (char next : value.toCharArray()) {
        if (next == '"' || next == '\\') quoted.append('\\').append(next);
        else if (next < ' ' || Character.isSurrogate(next)) quoted.append(String.format("\\u%04x", (int) next));
        else quoted.append(next);
      }
      return quoted.append('"').toString();
    }
  }
}
