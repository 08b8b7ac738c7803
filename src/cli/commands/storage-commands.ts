import type { Command } from 'commander';
import type { OrphanObjects } from '../answers.js';
import type { Session } from '../session.js';
import { orphansText } from '../text/storage-text.js';

/** The commands of whoever runs the installation. */
export function addStorageCommands(program: Command, session: Session): void {
  program
    .command('storage')
    .description('stored objects; takes the key of an operator')
    .command('orphans')
    .description('list stored objects that nothing refers to, a page at a time')
    .action(async () => {
      let found = 0;
      let cursor: string | undefined;
      do {
        const query = cursor === undefined ? '' : `?${new URLSearchParams({ cursor }).toString()}`;
        const answer = await session.api.call<OrphanObjects>('GET', `/storage/orphans${query}`);
        await session.show(answer, orphansText);
        found += answer.body.objects.length;
        cursor = answer.body.page_info.next_cursor;
      } while (cursor !== undefined);
      session.remark(`${String(found)} orphaned objects`);
    });
}
