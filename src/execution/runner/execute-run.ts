import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionView } from '../protocol/harness-support.js';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import type { Harness, HarnessOutcome } from './harness.js';
import { patienceMs } from './patience.js';
import { GaveUpError } from './retry.js';
import { SecretMask } from './secret-mask.js';
import { selectHarness } from './select-harness.js';
import { setUpSecrets, setUpWorkspace } from './set-up-workspace.js';
import { TranscriptSaver } from './transcript-saver.js';

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
  await Promise.race([performAndReport(view, patient, note), beat(patient, view.heartbeat_seconds)]);
}

/** Rejects when the execution is over or the server is lost; never resolves. */
async function beat(controlPlane: ControlPlane, everySeconds: number): Promise<never> {
  for (;;) {
    await sleep(everySeconds * 1000);
    await controlPlane.heartbeat();
  }
}

async function performAndReport(view: ExecutionView, controlPlane: ControlPlane, note: Note): Promise<void> {
  const outcome = await outcomeOf(() => perform(view, controlPlane, note));
  switch (outcome.kind) {
    case 'finished':
      await controlPlane.finishTask({ success: outcome.success, summary: outcome.summary });
      await controlPlane.reportShutdown({});
      return;
    case 'errored':
      note(outcome.message);
      await controlPlane.reportShutdown({ error: { category: outcome.category, message: outcome.message } });
      return;
  }
}

/** Whatever goes wrong while the agent is prepared or runs is an outcome too, as long as somebody can be told. */
async function outcomeOf(perform: () => Promise<HarnessOutcome>): Promise<HarnessOutcome> {
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

async function perform(view: ExecutionView, controlPlane: ControlPlane, note: Note): Promise<HarnessOutcome> {
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
  switch (setUp.kind) {
    case 'failed':
      return { kind: 'errored', category: 'environment_setup_failed', message: mask.apply(setUp.message) };
    case 'ready': {
      const { environment, context } = setUp;
      return performTurn(selection.harness, { view, environment, context, mask }, controlPlane, note);
    }
  }
}

/** What a turn needs of what has been prepared. */
interface Prepared {
  view: ExecutionView;
  environment: Record<string, string>;
  context: string | undefined;
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

async function performTurn(
  harness: Harness,
  { view, environment, context, mask }: Prepared,
  controlPlane: ControlPlane,
  note: Note,
): Promise<HarnessOutcome> {
  const resolved = await controlPlane.resolvePrompt();
  const prompt = { ...resolved, context: [context, resolved.context].filter(Boolean).join('\n\n') };
  const conversationId = await controlPlane.openConversation(harness.transcriptFormat);
  // A save replaces what is stored, so a continued conversation is carried along.
  const continues = view.conversation_id === conversationId;
  const earlier = continues ? await controlPlane.earlierTranscript() : undefined;

  const turn = harness.startTurn({ prompt, earlier, environment, mask });
  const saver = new TranscriptSaver(
    controlPlane.withPatience(0),
    controlPlane,
    conversationId,
    turn.transcript,
  );
  const outcome = await saver.saveDuring(turn.outcome);
  await saveLast(saver, note);
  return outcome;
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
