"""Results as E2B's clients read them: one field for each kind of representation."""

_FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}


def result_message(data, is_main_result):
    """The message for a bundle of representations by MIME type; kinds without a field of their own are in `extra`.

    A text that is a quoted string, as the last expression of a cell shows it, loses its quotes.
    """
    message = {"type": "result"}
    extra = {}
    for kind, value in data.items():
        field = _FIELDS.get(kind)
        if field is None:
            extra[kind] = value
        elif value is not None:
            message[field] = value
    text = message.get("text")
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] == "'":
        message["text"] = text[1:-1]
    if extra:
        message["extra"] = extra
    message["is_main_result"] = is_main_result
    return message
