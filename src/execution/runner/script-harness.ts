import { type BashCommand, runBash } from './bash-command.js';
import { fencedBlocks } from './fenced-blocks.js';
import type { Harness, HarnessOutcome, TurnInput } from './harness.js';
import type { SecretMask } from './secret-mask.js';
import { ScriptTranscript } from './script-transcript.js';
import { stallMessage } from './stall-watch.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const OUTPUT_CAP_BYTES = MIB;
/** What a command may still say once the transcript has reached its limit, so that a loop of noise cannot fill the memory. */
const SMALL_OUTPUT_CAP_BYTES = 4 * KIB;
const TRANSCRIPT_LIMIT_BYTES = 16 * MIB;
const QUOTED_OUTPUT_CHARACTERS = 200;

const NO_BLOCK =
  'The script model executes the fenced code blocks of a prompt that are marked "bash", and this prompt has none. ' +
  'Add one (a line ```bash, the commands, a line ```), or choose another model for the run.';

const NO_BASH =
  'The script model needs bash, and the machine of this worker has none in its PATH. ' +
  'Install bash there, or send the run to another worker.';

/**
 * The agent without a model: executes the bash blocks of its prompt in order and stops at the first that fails.
 *
 * Only the prompt itself is executed. Context may quote what strangers sent, and stays text.
 *
 * Blocks share the working directory and what earlier ones left running, but no shell: variables end with their block.
 * They also share the runner's process group, so a block that signals its whole group (`kill 0`) ends the run.
 */
export const scriptHarness: Harness = {
  transcriptFormat: 'millwright_script',

  prepare: () => Promise.resolve({}),

  startTurn(input) {
    const transcript = new ScriptTranscript(input.earlier, (text) => input.mask.apply(text));
    return { transcript, outcome: executeTurn(input, transcript), usage: undefined };
  },
};

async function executeTurn(
  { prompt: { prompt }, environment, mask, stallMinutes }: TurnInput,
  transcript: ScriptTranscript,
): Promise<HarnessOutcome> {
  const startedAt = performance.now();
  transcript.userMessage(prompt);
  const outcome = masked(
    await executeBlocks(bashBlocks(prompt), { environment, stallMinutes }, transcript),
    mask,
  );
  const success = outcome.kind === 'finished' && outcome.success;
  if (outcome.kind === 'finished') transcript.assistantMessage(outcome.summary);
  transcript.turnCompleted(success, performance.now() - startedAt);
  return outcome;
}

function bashBlocks(prompt: string): string[] {
  return fencedBlocks(prompt)
    .filter((block) => block.language === 'bash')
    .map((block) => block.text);
}

/** A summary may quote output. */
function masked(outcome: HarnessOutcome, mask: SecretMask): HarnessOutcome {
  return outcome.kind === 'finished' ? { ...outcome, summary: mask.apply(outcome.summary) } : outcome;
}

async function executeBlocks(
  scripts: string[],
  settings: Pick<BashCommand, 'environment' | 'stallMinutes'>,
  transcript: ScriptTranscript,
): Promise<HarnessOutcome> {
  if (scripts.length === 0) {
    return { kind: 'errored', category: 'integration_not_configured', message: NO_BLOCK };
  }
  for (const [index, script] of scripts.entries()) {
    let lineId: string | undefined;
    const command = {
      script,
      name: `command ${index + 1}`,
      outputCapBytes: outputCap(transcript),
      ...settings,
    };
    const result = await runBash(command, () => (lineId = transcript.commandStarted(script)));
    if (result.kind === 'bash_not_found') {
      return { kind: 'errored', category: 'integration_not_configured', message: NO_BASH };
    }
    const { exitCode, output } = result;
    if (lineId !== undefined) transcript.commandFinished(lineId, exitCode, output);
    if (result.kind === 'stalled') {
      const message = stallMessage(nameOf(index + 1, scripts.length), settings.stallMinutes);
      return { kind: 'errored', category: 'agent_process_failed', message };
    }
    if (exitCode !== 0) {
      const summary = describeFailure(index + 1, scripts.length, exitCode, output.text);
      return { kind: 'finished', success: false, summary };
    }
  }
  const summary = scripts.length === 1 ? '1 command succeeded' : `${scripts.length} commands succeeded`;
  return { kind: 'finished', success: true, summary };
}

function outputCap(transcript: ScriptTranscript): number {
  return transcript.sizeBytes < TRANSCRIPT_LIMIT_BYTES ? OUTPUT_CAP_BYTES : SMALL_OUTPUT_CAP_BYTES;
}

/** Says which command failed, and the last thing that it said. */
export function describeFailure(position: number, count: number, exitCode: number, output: string): string {
  const lastLine = output.trimEnd().split('\n').at(-1)?.trim() ?? '';
  const failure = `${nameOf(position, count)} exited with code ${exitCode}`;
  return lastLine === '' ? failure : `${failure}: ${shortened(lastLine)}`;
}

const nameOf = (position: number, count: number): string =>
  count === 1 ? 'The command' : `Command ${position} of ${count}`;

function shortened(text: string): string {
  const characters = Array.from(text.slice(0, 2 * QUOTED_OUTPUT_CHARACTERS));
  if (text.length <= QUOTED_OUTPUT_CHARACTERS) return text;
  return `${characters.slice(0, QUOTED_OUTPUT_CHARACTERS - 1).join('')}…`;
}
