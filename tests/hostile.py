"""Texts that would do harm if they were anything but texts."""

SCRIPT, IMAGE = "<script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 1">'
REFUSED_BY_PROGRAMS = ("{x}", "{{x}}", "{trial}")
"""Names with braces, which are placeholders of xstar run."""
TEXTS = (
    SCRIPT, IMAGE, "</style></title></svg><script>window.hacked = 1</script>",
    "<a href='javascript:window.hacked=1'>a</a>", "'; DROP TABLE studies; --", "=cmd|'/c calc'!A1", "+1+1",
    "-1+1", "@SUM(1)", "-2", "'=1", '=HYPERLINK("http://x",1)',
    "$HOME", "`touch hacked`", "$(touch hacked)", "; touch hacked", "--help", "--json=1", "../../etc/passwd", "C:\\x",
    "two\nlines", "two\r\nlines", "one\rmore", "a\tb", "\x1b[31mred", "\x07\x08bell", "abc\u202eevil", "\u2066isolated",
    "long" * 400, "🚀", "%s %n %{y}", "a=b", "a,b;c", 'say "hi"', "a [b]", "# no comment", "\\n", "$x^2$", "a\u2028b",
    " at its ends ", "null", "None", "nan",
)  # fmt: skip
"""As names of parameters, and as choices."""
CHOICES = (*TEXTS, *REFUSED_BY_PROGRAMS)
