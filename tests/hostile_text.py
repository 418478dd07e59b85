"""What a hostile document might hold."""

PROSE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
    "![x](javascript:alert(1))", "[x](data:text/html,<script>alert(1)</script>)", "<svg/onload=alert(1)>",
    '"><svg onload=alert(1)>', "' onfocus='x", "<a href='javascript:x'>", "</article></main><h1>", "<!-- -->", "-->",
    "]]>", "&lt;script&gt;", "&#60;script&#62;", "```\n<script>\n```", "`<script>`",
    "| <b> | ' |\n|---|---|\n| <i> | \" |", "# <h1>", "> <q>", "- <li>", "1. x", "\ue0000\ue001", "\ue000",
    "{{style}}", "{{policy}}", "\x00", "\x1b[31m", "\ud800", "\n\n", "**", "_", "~~", "\\", "<", "&",
    "[a]: javascript:x\n\n[a]", "<https://x.y>", "$", "\u202e", "\x0c", 'style="x"', "\r\n", "\t", "    code",
    r"\textbf{<b>}", r"\section{<i>}", r"\item[<u>]", r"\emph{", "}", r"\begin{document}", r"\end{document}", "%",
]  # fmt: skip

FORMULAS = [
    r"\text{<script>alert(1)</script>}", r"\href{javascript:alert(1)}{x}", r"\style{color:red}{x}", r"\class{x}{y}",
    "<", "&", r"\unicode{x3c}", r"\def\a{\a\a}\a", r"\newcommand{\b}{\b}\b", "{", "}", "^", "_", r"\frac", r"\left(",
    r"\right)", r"\\", r"\begin{aligned}", r"\end{aligned}", r"\color{url(x)}", r"\hspace{9999em}", "x", "=",
    r"\alpha", "设", "\x00", "\ue0000\ue001", r"\bbox[red]{x}", r"\mathop{<img src=x>}", r"\operatorname{<b>}",
    r"\tag{<i>}", r"\label{x}", r"\cssId{x}{y}", r"\&", '"', "'", r"\begin{array}{<script>}", r"\rule{1em}{1em}",
    r"\sqrt", "%", "~", r"\text{", r"\mathbf{1}", r"\verb|<b>|", r"\text{&#x3C;script&#x3E;}", "&#x3C;b&#x3E;",
]  # fmt: skip
