# The R kernel: `Rscript kernel.R REQUESTS_FD ANSWERS_FD`. Lines of JSON, as server/channel.py says.

local({
  arguments <- commandArgs(trailingOnly = TRUE)
  requests <- file(paste0("/dev/fd/", arguments[[1]]), "rb")
  answers <- file(paste0("/dev/fd/", arguments[[2]]), "wb")
  figures <- tempfile("figures")
  dir.create(figures)

  say <- function(...) {
    writeLines(jsonlite::toJSON(list(...), auto_unbox = TRUE, null = "null", na = "null"), answers)
    flush(answers)
  }

  # Plots go to files; what was drawn is a result when the code has ended or shows a value.
  options(device = function(...) grDevices::png(file.path(figures, "figure%03d.png"), width = 840, height = 840, res = 120))
  show_figures <- function() {
    if (!is.null(grDevices::dev.list())) grDevices::graphics.off()
    for (path in sort(list.files(figures, full.names = TRUE))) {
      bytes <- readBin(path, "raw", file.size(path))
      say(type = "result", main = FALSE, data = list("image/png" = gsub("\n", "", jsonlite::base64_enc(bytes), fixed = TRUE)))
      file.remove(path)
    }
  }

  text_of <- function(value) paste(utils::capture.output(print(value)), collapse = "\n")

  # A data frame has its columns beside its text.
  bundle <- function(value) {
    data <- list("text/plain" = text_of(value))
    if (is.data.frame(value)) data[["e2b/data"]] <- lapply(utils::head(value, 100000), function(column) I(as.vector(column)))
    data
  }

  run <- function(code) {
    expressions <- parse(text = code, keep.source = FALSE)
    for (index in seq_along(expressions)) {
      outcome <- withVisible(eval(expressions[[index]], globalenv()))
      if (outcome$visible) {
        if (inherits(outcome$value, c("ggplot", "trellis"))) print(outcome$value)
        else say(type = "result", main = index == length(expressions), data = bundle(outcome$value))
      }
    }
  }

  failed <- function(condition) {
    call <- conditionCall(condition)
    where <- if (is.null(call)) "" else paste("in", paste(deparse(call), collapse = " "))
    message <- conditionMessage(condition)
    say(type = "error", name = class(condition)[[1]], value = message, traceback = paste0("Error ", where, ": ", message))
  }

  execute <- function(request) {
    env <- request$env
    former <- Sys.getenv(names(env), unset = NA, names = TRUE)
    if (length(env) > 0) do.call(Sys.setenv, env)
    tryCatch(run(request$code), error = failed, interrupt = function(condition) {
      say(type = "error", name = "interrupt", value = "The execution was interrupted", traceback = "")
    })
    Sys.unsetenv(names(former)[is.na(former)])
    if (any(!is.na(former))) do.call(Sys.setenv, as.list(former[!is.na(former)]))
    show_figures()
    flush(stdout())
    say(type = "done")
  }

  tryCatch(cat("300", file = "/proc/self/oom_score_adj"), error = function(condition) NULL, warning = function(condition) NULL)
  say(type = "ready")
  repeat {
    line <- readLines(requests, n = 1L, encoding = "UTF-8", warn = FALSE)
    if (length(line) == 0) quit(save = "no")
    execute(jsonlite::fromJSON(line, simplifyVector = FALSE))
  }
})
