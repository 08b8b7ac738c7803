import type { Markup } from './markup.js';
import {
  isCancellable,
  isLive,
  renderArtifacts,
  renderConversation,
  renderProblem,
  renderState,
  renderTimeline,
  type ShownEvent,
  type ShownRun,
  type ShownStep,
} from './render-run.js';

/** This file runs in a browser, and only there: what it uses of one, in types. */
interface PageElement {
  innerHTML: string;
  textContent: string | null;
  hidden: boolean;
  disabled: boolean;
  value: string;
  dataset: Record<string, string | undefined>;
  closest(selector: string): PageElement | null;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
  focus(): void;
}
interface PageEvent {
  target: PageElement;
  preventDefault(): void;
}
declare const document: {
  title: string;
  hidden: boolean;
  querySelector(selector: string): PageElement | null;
};
declare const location: { pathname: string; assign(url: string): void };
declare const sessionStorage: {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  clear(): void;
};

const LIVE_EVERY_MS = 2_000;
const ENDED_EVERY_MS = 15_000;

const runId = location.pathname.split('/').at(-1) ?? '';
const shown = new Map<string, string>();
let timer: ReturnType<typeof setTimeout> | undefined;

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

function element(selector: string): PageElement {
  const found = document.querySelector(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Only where something has changed: what a reader has opened or selected stays. */
function show(selector: string, markup: Markup): void {
  if (shown.get(selector) === markup.text) return;
  shown.set(selector, markup.text);
  element(selector).innerHTML = markup.text;
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const team = sessionStorage.getItem('team');
  const response = await fetch(`../v1/agent/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${sessionStorage.getItem('key') ?? ''}`,
      'Content-Type': 'application/json',
      ...(team ? { 'X-Team-Uid': team } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = (await response.json().catch(() => ({}))) as { error?: string };
  if (!response.ok) throw new Refused(response.status, answer.error ?? `HTTP ${String(response.status)}`);
  return answer;
}

const orNothing =
  <T>(nothing: T) =>
  (error: unknown): T => {
    if (error instanceof Refused && (error.status === 404 || error.status === 422)) return nothing;
    throw error;
  };

async function refresh(): Promise<void> {
  clearTimeout(timer);
  let delay = LIVE_EVERY_MS;
  try {
    if (!document.hidden) {
      const run = (await call('GET', `runs/${runId}`)) as ShownRun;
      const [timeline, conversation] = await Promise.all([
        call('GET', `runs/${runId}/timeline`) as Promise<{ events: ShownEvent[] }>,
        (call('GET', `runs/${runId}/conversation`) as Promise<{ steps: ShownStep[] }>).catch(
          orNothing({ steps: [] as ShownStep[] }),
        ),
      ]);
      showRun(run);
      show('#timeline', renderTimeline(timeline.events));
      show('#conversation', renderConversation(conversation.steps));
      delay = isLive(run) ? LIVE_EVERY_MS : ENDED_EVERY_MS;
    }
  } catch (error) {
    fail(error);
    if (error instanceof Refused && [401, 403, 404].includes(error.status)) return;
    delay = ENDED_EVERY_MS;
  }
  timer = setTimeout(() => void refresh(), delay);
}

function showRun(run: ShownRun): void {
  document.title = `${run.state} · ${run.title}`;
  element('h1').textContent = run.title;
  element('#sign-in').hidden = true;
  element('#run').hidden = false;
  element('#cancel').hidden = !isCancellable(run);
  show('#state', renderState(run));
  show('#artifacts', renderArtifacts(run.artifacts ?? []));
  element('#problem').innerHTML = '';
}

function fail(error: unknown): void {
  element('#problem').innerHTML = renderProblem(error instanceof Error ? error.message : String(error)).text;
  if (error instanceof Refused && [401, 403, 404].includes(error.status)) {
    sessionStorage.clear();
    element('#run').hidden = true;
    element('#sign-in').hidden = false;
    element('#key').focus();
  }
}

/** Does something for the reader once, and then shows what came of it. */
async function act(button: PageElement, work: () => Promise<void>): Promise<void> {
  button.disabled = true;
  try {
    await work();
    await refresh();
  } catch (error) {
    fail(error);
  } finally {
    button.disabled = false;
  }
}

element('#sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('key', element('#key').value.trim());
  sessionStorage.setItem('team', element('#team').value.trim());
  element('#key').value = '';
  void refresh();
});

element('#sign-out').addEventListener('click', () => {
  clearTimeout(timer);
  sessionStorage.clear();
  element('#run').hidden = true;
  element('#sign-in').hidden = false;
});

element('#cancel').addEventListener('click', ({ target }) => {
  void act(target, async () => {
    await call('POST', `runs/${runId}/cancel`);
  });
});

element('#follow-up').addEventListener('submit', (event) => {
  event.preventDefault();
  void act(element('#send'), async () => {
    await call('POST', `runs/${runId}/followups`, { message: element('#message').value });
    element('#message').value = '';
  });
});

element('#artifacts').addEventListener('click', ({ target }) => {
  const button = target.closest('button');
  const { download, plan } = button?.dataset ?? {};
  const uid = download ?? plan;
  if (button === null || uid === undefined) return;
  void act(button, async () => {
    const { data } = (await call('GET', `artifacts/${uid}`)) as {
      data: { download_url?: string; content?: string };
    };
    if (data.download_url !== undefined) location.assign(data.download_url);
    element('#plan').textContent = data.content ?? '';
    element('#plan').hidden = data.content === undefined;
  });
});

if (sessionStorage.getItem('key') !== null) void refresh();
