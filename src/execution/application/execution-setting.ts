import { Injectable } from '@nestjs/common';
import { Environments, GitCredentials } from '../../catalog/index.js';
import { AppConfig } from '../../config/app-config.js';
import { Database } from '../../kernel/persistence/database.js';
import { ObjectStorage } from '../../kernel/storage/object-storage.js';
import {
  AttachmentRepository,
  type ExecutionFacts,
  MAX_ATTACHMENT_BYTES,
  type StoredAttachment,
} from '../../runs/index.js';
import type { ExecutionView } from '../protocol/harness-support.js';

/** What an agent finds in place when it begins: repositories, what was installed, files. */
@Injectable()
export class ExecutionSetting {
  constructor(
    private readonly environments: Environments,
    private readonly credentials: GitCredentials,
    private readonly attachments: AttachmentRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {}

  /** Undefined for a run without an environment, `missing` for one whose environment has been deleted since. */
  async environment({
    agentConfig,
    teamUid,
  }: ExecutionFacts): Promise<NonNullable<ExecutionView['environment']> | 'missing' | undefined> {
    if (agentConfig.environment_id === undefined) return undefined;
    const environment = await this.environments.config(this.database, agentConfig.environment_id);
    if (environment === undefined) return 'missing';
    return {
      repositories: environment.github_repos ?? [],
      git_base_url: this.config.gitBaseUrl,
      git_token: await this.credentials.tokenFor({ teamUid: teamUid ?? null, ownerUid: null }),
      setup_commands: environment.setup_commands ?? [],
    };
  }

  /** The run's files whose bytes are there. */
  async filesOf(runId: string): Promise<StoredAttachment[]> {
    const attachments = await this.attachments.ofRun(this.database, runId);
    const found = await Promise.all(
      attachments.map(async (file) => {
        const isThere =
          file.sizeBytes !== null ||
          (await this.storage.uploaded(file.objectKey, MAX_ATTACHMENT_BYTES)) !== undefined;
        return isThere ? [file] : [];
      }),
    );
    return found.flat();
  }

  /** @param origin where the runner reaches this service */
  async downloads(runId: string, origin: string): Promise<ExecutionView['attachments']> {
    const files = await this.filesOf(runId);
    return Promise.all(
      files.map(async ({ id, fileName, mimeType, objectKey }) => {
        const options = { filename: fileName, contentType: mimeType, origin };
        const downloadUrl = await this.storage.downloadUrl(objectKey, options);
        return { attachment_id: id, file_name: fileName, mime_type: mimeType, download_url: downloadUrl };
      }),
    );
  }
}
