import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BUCKET = 'millwright-test';
/** The only ones that the server knows. */
const CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

/** A bucket on a server that speaks S3 and checks signatures. */
export class S3Server {
  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly endpoint: string,
  ) {}

  static async start(): Promise<S3Server> {
    const directory = await mkdtemp(join(tmpdir(), 'millwright-s3-'));
    const script = join(import.meta.dirname, 's3-server-process.mjs');
    const child = spawn(process.execPath, [script, directory, BUCKET], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new S3Server(child, directory, `http://127.0.0.1:${port.toString().trim()}`);
  }

  get config() {
    return {
      bucket: BUCKET,
      endpoint: this.endpoint,
      region: 'us-east-1',
      credentials: CREDENTIALS,
      forcePathStyle: true,
    };
  }

  /** The same for a service. */
  get environment(): Record<string, string> {
    return {
      S3_BUCKET: BUCKET,
      S3_ENDPOINT: this.endpoint,
      S3_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      S3_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      S3_FORCE_PATH_STYLE: 'true',
    };
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
    await rm(this.directory, { recursive: true, force: true });
  }
}
