/** The page of a run, without anything of the run: that is fetched with the reader's key. Paths are relative: a proxy may add a prefix. */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Run · Millwright</title>
<link rel="stylesheet" href="page/style.css">
<script type="module" src="page/run-page.js"></script>
</head>
<body>
<main>
<header><h1>Run</h1></header>
<div id="problem" aria-live="polite"></div>
<form id="sign-in" method="post">
<p><label for="key">API key</label><input id="key" type="password" autocomplete="off" required></p>
<p><label for="team">Team (its UID, if you belong to several)</label><input id="team" autocomplete="off"></p>
<p><button>Show the run</button> <small>The key stays in this tab.</small></p>
</form>
<div id="run" hidden>
<p><button id="cancel" type="button" hidden>Cancel the run</button> <button id="sign-out" type="button">Forget the key</button></p>
<section aria-labelledby="h-state"><h2 id="h-state">State</h2><div id="state" aria-live="polite"></div></section>
<section aria-labelledby="h-artifacts"><h2 id="h-artifacts">Artifacts</h2><div id="artifacts"></div><pre id="plan" hidden></pre></section>
<section aria-labelledby="h-conversation"><h2 id="h-conversation">Conversation</h2><div id="conversation"></div></section>
<form id="follow-up" method="post">
<p><label for="message">Follow-up</label><textarea id="message" rows="4"></textarea></p>
<p><button id="send">Send</button></p>
</form>
<section aria-labelledby="h-timeline"><h2 id="h-timeline">Timeline</h2><div id="timeline"></div></section>
</div>
</main>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;

export const STYLE = `:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:1rem/1.5 system-ui,sans-serif;margin:0}
main{max-width:56rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.1rem;border-bottom:1px solid var(--line)}h3{font-size:.8rem;margin:0;opacity:.7}
[hidden]{display:none!important}
label{display:block}input,textarea{width:100%;box-sizing:border-box;font:inherit;padding:.4rem}
button{font:inherit;padding:.3rem .8rem}
:focus-visible{outline:2px solid currentColor;outline-offset:2px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.5rem;margin:.3rem 0;max-height:30rem;overflow:auto}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
.state strong{border:1px solid;border-radius:.3rem;padding:.1rem .4rem}
.timeline{padding-left:1.2rem}.timeline small{overflow-wrap:anywhere}
.message{margin:.5rem 0;padding-left:.6rem;border-left:3px solid var(--line)}.step .step{margin-left:1rem}
.type{font-size:.8rem;opacity:.7}
[role=alert]{border:1px solid;padding:.5rem;border-radius:.3rem}
`;
