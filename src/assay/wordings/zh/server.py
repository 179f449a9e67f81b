"""Chinese of what the web server says."""

from __future__ import annotations

TEXTS = {
    "the password has fewer than {least} characters": "密码少于 {least} 个字符",
    "{host} can be reached from other machines: choose a password, or listen on 127.0.0.1": "其他机器可以访问 {host}：请设置密码，或只监听 127.0.0.1",
    "the request took longer than {seconds:g} s to arrive": "请求在 {seconds:g} 秒内没有传完",
    "the request has more than {limit:,} bytes": "请求超过 {limit:,} 字节",
    "this server is not known by that name": "本服务器不使用该主机名",
    "too many requests: wait a second": "请求过多：请稍候一秒",
    "nothing is here: this server answers at {paths:and}": "此处没有内容：本服务器的地址是 {paths:and}",
    "this request comes from a page of another server": "该请求来自其他服务器的页面",
    "send the password as a bearer token": "请以 Authorization: Bearer 请求头发送密码",
    "open the address that the terminal shows: its token lets you in": "请打开终端显示的地址：其中的访问码用于登录",
    "too many wrong passwords: wait a minute": "密码错误次数过多：请等待一分钟",
    "this is not the password": "密码不正确",
    "Password": "密码",
    "Sign in": "登录",
    "the web server": "Web 服务器",
    "{host}:{port}: cannot listen there: {reason}": "{host}:{port}：无法监听：{reason}",
    "choose another --port": "请换一个 --port",
}
