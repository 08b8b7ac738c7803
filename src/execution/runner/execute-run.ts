import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionView, ResolvedPrompt } from '../protocol/harness-support.js';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import type { Harness, HarnessOutcome } from './harness.js';
import { Inbox } from './inbox.js';
import { patienceMs } from './patience.js';
import { GaveUpError } from './retry.js';
import { SecretMask } from './secret-mask.js';
import { selectHarness } from './select-harness.js';
import { setUpSecrets, setUpWorkspace } from './set-up-workspace.js';
import { TranscriptSaver } from './transcript-saver.js';
import { watchRun } from './watch-run.js';

/** The safety net behind the events. */
const MESSAGE_POLL_MS = 5_000;

/** Takes the runner's notes for whoever reads the worker's log. */
export type Note = (text: string) => void;

/**
 * Executes the run that the control plane knows its caller by, and reports its outcome.
 *
 * Rejects with ExecutionOverError when nothing more is wanted of this execution, and with another error when the
 * outcome could not be reported. Commands may still be running then: the caller ends the process, and its group with it.
 */
export async function executeRun(controlPlane: ControlPlane, note: Note): Promise<void> {
  const view = await controlPlane.execution();
  const patient = controlPlane.withPatience(patienceMs(view.heartbeat_seconds));
  const inbox = new Inbox();
  await Promise.race([
    performAndReport({ view, controlPlane: patient, inbox, note }),
    beat(patient, view.heartbeat_seconds),
    watchRun(patient, inbox),
  ]);
}

/** What the steps of an execution have in common. */
interface Assignment {
  view: ExecutionView;
  controlPlane: ControlPlane;
  inbox: Inbox;
  note: Note;
}

/** How it went: the agent's outcome, or why it could not begin and how whoever debugs that can go on in the session. */
type Performance =
  HarnessOutcome | { kind: 'set_up_failed'; message: string; debug: (until: Date) => Promise<void> };

/** Rejects when the execution is over or the server is lost; never resolves. */
async function beat(controlPlane: ControlPlane, everySeconds: number): Promise<never> {
  for (;;) {
    await sleep(everySeconds * 1000);
    await controlPlane.heartbeat();
  }
}

async function performAndReport(assignment: Assignment): Promise<void> {
  const { controlPlane, note } = assignment;
  const outcome = await outcomeOf(() => perform(assignment));
  switch (outcome.kind) {
    case 'finished':
      await controlPlane.finishTask({ success: outcome.success, summary: outcome.summary });
      await controlPlane.reportShutdown({});
      return;
    case 'errored':
      note(outcome.message);
      await controlPlane.reportShutdown({ error: { category: outcome.category, message: outcome.message } });
      return;
    case 'set_up_failed': {
      note(outcome.message);
      const request = { message: outcome.message, session_retained: true };
      const until = await controlPlane.reportSetUpFailure(request);
      if (until !== undefined) await outcome.debug(until);
      await controlPlane.reportShutdown({});
      return;
    }
  }
}

/** Whatever goes wrong while the agent is prepared or runs is an outcome too, as long as somebody can be told. */
async function outcomeOf(perform: () => Promise<Performance>): Promise<Performance> {
  try {
    return await perform();
  } catch (error) {
    if (error instanceof ExecutionOverError || error instanceof GaveUpError) throw error;
    return {
      kind: 'errored',
      category: 'agent_process_failed',
      message: `The runner failed: ${messageOf(error)}`,
    };
  }
}

async function perform(assignment: Assignment): Promise<Performance> {
  const { view, controlPlane } = assignment;
  await reportStarted(view, controlPlane);
  if (view.missing_secrets.length > 0) {
    return {
      kind: 'errored',
      category: 'integration_not_configured',
      message: `The agent was granted secrets that the team does not have: ${view.missing_secrets.join(', ')}. Make them, or take them from the agent.`,
    };
  }
  const selection = selectHarness(view.harness);
  switch (selection.kind) {
    case 'unsupported':
      return { kind: 'errored', category: 'integration_not_configured', message: selection.message };
    case 'selected':
      break;
  }
  const mask = new SecretMask(setUpSecrets(view));
  const setUp = await setUpWorkspace(view, controlPlane);
  const agent = { harness: selection.harness, environment: setUp.environment, mask };
  switch (setUp.kind) {
    case 'failed':
      return {
        kind: 'set_up_failed',
        message: mask.apply(setUp.message),
        debug: (until) => debug(assignment, agent, until),
      };
    case 'ready':
      return converse(assignment, agent, setUp.context);
  }
}

/** The agent program, and what it works with in every turn. */
interface Agent {
  harness: Harness;
  environment: Record<string, string>;
  mask: SecretMask;
}

async function reportStarted(view: ExecutionView, controlPlane: ControlPlane): Promise<void> {
  await controlPlane.reportClientEvent({
    event_uuid: randomUUID(),
    event_name: 'agent_started',
    timestamp: new Date().toISOString(),
  });
  await controlPlane.reportInProgress(view.execution_id);
}

/** The prompt, and then what has come meanwhile, until nothing is left: the run's outcome is that of its last turn. */
async function converse(
  assignment: Assignment,
  agent: Agent,
  context: string | undefined,
): Promise<HarnessOutcome> {
  const resolved = await assignment.controlPlane.resolvePrompt();
  let prompt = { ...resolved, context: [context, resolved.context].filter(Boolean).join('\n\n') };
  const takeTurn = await openConversation(assignment, agent);
  for (;;) {
    const outcome = await takeTurn(prompt);
    const next = outcome.kind === 'finished' ? await takeMessages(assignment.controlPlane) : undefined;
    if (next === undefined) return outcome;
    prompt = { ...prompt, prompt: next, resumption_prompt: undefined };
  }
}

/** Carries out what people who debug the failed set-up ask for, in the session as it is, until the time is over. */
async function debug(assignment: Assignment, agent: Agent, until: Date): Promise<void> {
  let takeTurn: Awaited<ReturnType<typeof openConversation>> | undefined;
  for (let leftMs = 1; leftMs > 0; leftMs = until.getTime() - Date.now()) {
    const message = await takeMessages(assignment.controlPlane);
    if (message === undefined) {
      await assignment.inbox.wait(Math.min(leftMs, MESSAGE_POLL_MS));
    } else {
      takeTurn ??= await openConversation(assignment, agent);
      await takeTurn({ prompt: message });
    }
  }
}

/** What the agent is told next; undefined when nothing waits. From here on it is this execution's: should it die, the run tells. */
async function takeMessages(controlPlane: ControlPlane): Promise<string | undefined> {
  const messages = await controlPlane.waitingMessages();
  if (messages.length === 0) return undefined;
  await controlPlane.deliverMessages(messages.map(({ message_id: id }) => id));
  return messages.map(({ message }) => message).join('\n\n');
}

/** Takes a turn in the run's conversation, after those that were there before. */
async function openConversation(
  { view, controlPlane, note }: Assignment,
  { harness, environment, mask }: Agent,
): Promise<(prompt: ResolvedPrompt) => Promise<HarnessOutcome>> {
  const conversationId = await controlPlane.openConversation(harness.transcriptFormat);
  // A save replaces what is stored, so a continued conversation is carried along.
  const continues = view.conversation_id === conversationId;
  let earlier = continues ? await controlPlane.earlierTranscript() : undefined;
  return async (prompt) => {
    const { transcript, outcome } = harness.startTurn({ prompt, earlier, environment, mask });
    const saver = new TranscriptSaver(controlPlane.withPatience(0), controlPlane, conversationId, transcript);
    const result = await saver.saveDuring(outcome);
    await saveLast(saver, note);
    earlier = transcript.bytes();
    return result;
  };
}

/** An outcome without its transcript is worth more than none. */
async function saveLast(saver: TranscriptSaver, note: Note): Promise<void> {
  try {
    await saver.saveFinally();
  } catch (error) {
    if (error instanceof ExecutionOverError) throw error;
    note(`The transcript could not be saved: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
