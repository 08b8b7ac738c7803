import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import {
  ConversationRepository,
  GetRun,
  type RunView,
  StoreAttachments,
  type StoredAttachment,
} from '../../runs/index.js';
import { RUN_FILE, TRANSCRIPT_FILE } from '../domain/judge-prompt.js';

/** The files by which a judge gets to know the run that it grades: copies, so that a follow-up does not change them. */
@Injectable()
export class GradedRunFiles {
  constructor(
    private readonly runs: GetRun,
    private readonly conversations: ConversationRepository,
    private readonly attachments: StoreAttachments,
    private readonly database: Database,
  ) {}

  /** @returns undefined when the team has no such run; the transcript is undefined when the run has left none */
  async store(
    judgeRunId: string,
    graded: { teamUid: string; runId: string },
  ): Promise<{ run: StoredAttachment; transcript: StoredAttachment | undefined } | undefined> {
    const view = await this.runs.ofTeam(graded.teamUid, graded.runId);
    if (view === undefined) return undefined;
    const [run] = await this.attachments.execute(judgeRunId, [
      { fileName: RUN_FILE, mimeType: 'application/json', bytes: Buffer.from(describe(view)) },
    ]);
    if (run === undefined) throw new Error('one file is stored as one');
    const fromKey = (await this.conversations.ofRun(this.database, graded.runId))?.transcript_key;
    const transcript = fromKey
      ? await this.attachments.copy(judgeRunId, {
          fileName: TRANSCRIPT_FILE,
          mimeType: 'application/x-ndjson',
          fromKey,
        })
      : undefined;
    return { run, transcript };
  }
}

const describe = (run: RunView): string =>
  JSON.stringify(
    {
      run_id: run.id,
      title: run.title,
      prompt: run.prompt,
      state: run.state,
      status_message: run.status_message ?? undefined,
      model_id: run.agent_config.model_id,
      skill_spec: run.agent_config.skill_spec,
      created_at: run.created_at,
      started_at: run.started_at ?? undefined,
      run_seconds: run.run_seconds ?? undefined,
    },
    undefined,
    2,
  );
