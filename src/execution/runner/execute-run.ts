import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionView } from '../protocol/harness-support.js';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import { type Agent, type Assignment, Conversation, messageOf, type Note } from './conversation.js';
import type { HarnessOutcome } from './harness.js';
import { Inbox } from './inbox.js';
import { patienceMs } from './patience.js';
import { GaveUpError } from './retry.js';
import { SecretMask } from './secret-mask.js';
import { selectHarness } from './select-harness.js';
import { setUpSecrets, setUpWorkspace } from './set-up-workspace.js';
import { watchRun } from './watch-run.js';

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
  const selection = selectHarness(view);
  switch (selection.kind) {
    case 'unsupported':
      return { kind: 'errored', category: 'integration_not_configured', message: selection.message };
    case 'selected':
      break;
  }
  const mask = new SecretMask(setUpSecrets(view));
  const ofHarness = await selection.harness.prepare(view.secrets);
  const setUp = await setUpWorkspace(view, ofHarness, controlPlane);
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
  const conversation = new Conversation(assignment, agent);
  for (;;) {
    const outcome = await conversation.takeTurn(prompt);
    const next = outcome.kind === 'finished' ? await conversation.takeMessages() : undefined;
    if (next === undefined) return outcome;
    prompt = { ...prompt, prompt: next, context: '', resumption_prompt: undefined };
  }
}

/** Carries out what people who debug the failed set-up ask for, in the session as it is, until the time is over. */
async function debug(assignment: Assignment, agent: Agent, until: Date): Promise<void> {
  const conversation = new Conversation(assignment, agent);
  for (let leftMs = 1; leftMs > 0; leftMs = until.getTime() - Date.now()) {
    const message = await conversation.takeMessages();
    if (message === undefined) await conversation.waitForMessages(leftMs);
    else await conversation.takeTurn({ prompt: message });
  }
}
