import type { Command } from 'commander';
import { formatDefinitionError } from '../../automations/domain/definition.js';
import { parseDefinition, type ParsedDefinition } from '../../automations/domain/parse-definition.js';
import type { AppliedDefinition, Factories, Webhooks } from '../answers.js';
import { path } from '../api-client.js';
import { readDefinitionDirectory } from '../definition-directory.js';
import { FailedError } from '../errors.js';
import type { Session } from '../session.js';
import { appliedText, filesText, webhooksText } from '../text/definition-text.js';

interface FactoryOption {
  factory?: string;
}

const FACTORY_HELP = 'by default the factory that factory.yaml names, else the one named default';
const DEFAULT_FACTORY = 'default';

export function addDefinitionCommands(program: Command, session: Session): void {
  program
    .command('validate <dir>')
    .description('check the files of a factory, without the service')
    .action(async (dir: string) => {
      const files = await readDefinitionDirectory(dir);
      readOrFail(files);
      session.terminal.show(`${Object.keys(files).length} files are valid`);
    });

  program
    .command('apply <dir>')
    .description('make a factory what the files say; what they have not is deleted')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--factory <uid>', FACTORY_HELP)
    .action((dir: string, options: FactoryOption & { dryRun?: true }) => apply(session, dir, options));

  program
    .command('export')
    .description('show a factory as the files that define it')
    .option('--factory <uid>', 'by default the one named default')
    .action(async ({ factory }: FactoryOption) => {
      const uid = factory ?? (await factoryNamed(session, DEFAULT_FACTORY));
      await session.show(
        session.api.call<{ files: Record<string, string> }>('GET', path`/factories/${uid}/definition`),
        filesText,
      );
    });
}

async function apply(
  session: Session,
  dir: string,
  { dryRun, factory }: FactoryOption & { dryRun?: true },
): Promise<void> {
  const files = await readDefinitionDirectory(dir);
  const { definition } = readOrFail(files);
  const uid = factory ?? (await factoryNamed(session, definition.factory.value.name ?? DEFAULT_FACTORY));
  const answer = await session.api.call<AppliedDefinition>('POST', path`/factories/${uid}/definition`, {
    files,
    dry_run: dryRun,
  });
  for (const warning of answer.body.warnings ?? []) {
    session.terminal.say(`warning: ${formatDefinitionError(warning)}`);
  }
  await session.show(answer, appliedText);
  if (dryRun !== undefined) return;
  // Automations name webhooks by their uids, and senders by their URLs.
  const { body } = await session.api.call<Webhooks>('GET', path`/factories/${uid}/webhooks`);
  if (body.webhooks.length > 0) session.remark(webhooksText(body));
}

/** @throws FailedError with a line for each mistake */
function readOrFail(files: Record<string, string>): ParsedDefinition & { outcome: 'parsed' } {
  const parsed = parseDefinition(files);
  if (parsed.outcome === 'parsed') return parsed;
  throw new FailedError(parsed.errors.map(formatDefinitionError).join('\n'));
}

async function factoryNamed(session: Session, name: string): Promise<string> {
  const { body } = await session.api.call<Factories>('GET', '/factories');
  const found = body.factories.find((factory) => factory.name.toLowerCase() === name.toLowerCase());
  if (found === undefined) throw new FailedError(`There is no factory named ${name}: see --factory.`);
  return found.uid;
}
