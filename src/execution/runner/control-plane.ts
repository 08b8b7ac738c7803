import { setTimeout as sleep } from 'node:timers/promises';
import type {
  ClientEvent,
  DeliveredMessagesRequest,
  ExecutionView,
  ExternalConversationRequest,
  FinishTaskRequest,
  ReportShutdownRequest,
  ResolvedPrompt,
  SetUpFailureRequest,
  TranscriptFormat,
  WaitingMessage,
  UsageReport,
} from '../protocol/harness-support.js';
import {
  parseArtifactUpload,
  parseConversationId,
  parseExecutionView,
  parseResolvedPrompt,
  parseSetUpFailure,
  parseUploadTarget,
  parseWaitingMessages,
  type RawUploadTarget,
} from './answers.js';
import { type HeardEvent, readEvents } from './event-lines.js';
import { exchange, type HttpAnswer, type HttpRequest } from './http-exchange.js';
import { retry, type RetryClock } from './retry.js';
import type { RunnerEnvironment } from './runner-environment.js';

const BACKOFF = { firstMs: 200, capMs: 5_000 };
const CALL_TIMEOUT_MS = 10_000;
/** Transcripts reach tens of megabytes. */
const TRANSFER_TIMEOUT_MS = 60_000;
/** The server says every 15 s that a stream is there. */
const STREAM_SILENCE_MS = 60_000;

/** The server no longer takes anything from this execution: it was cancelled, or another one has its lease. */
export class ExecutionOverError extends Error {
  constructor(
    readonly status: 401 | 403 | 404 | 409,
    path: string,
  ) {
    super(`The server answered ${status} to ${path}: this execution is over.`);
  }
}

/** The server understood the call and will not have it. Repeating it would not help. */
export class CallRefusedError extends Error {
  constructor(
    readonly status: number,
    path: string,
    body: Buffer,
  ) {
    super(`The server answered ${status} to ${path}: ${body.toString('utf8').slice(0, 300)}`);
  }
}

/**
 * The server's harness-support interface, as the execution named by the environment sees it.
 *
 * Every call is repeated while the server is away, at most for `patienceMs`. It throws ExecutionOverError,
 * CallRefusedError, UnreadableAnswerError or, when the patience is over, GaveUpError.
 */
export class ControlPlane {
  constructor(
    private readonly environment: RunnerEnvironment,
    private readonly patienceMs: number,
    private readonly clock: RetryClock = systemClock,
  ) {}

  withPatience(patienceMs: number): ControlPlane {
    return new ControlPlane(this.environment, patienceMs, this.clock);
  }

  async execution(): Promise<ExecutionView> {
    return parseExecutionView(await this.callForJson('GET', 'harness-support/execution'));
  }

  async reportClientEvent(event: ClientEvent): Promise<void> {
    await this.call('POST', `agent/runs/${encodeURIComponent(this.environment.runId)}/client-events`, event);
  }

  async reportInProgress(executionId: string): Promise<void> {
    const path = `agent/events/${encodeURIComponent(this.environment.runId)}`;
    await this.call('POST', path, { event_type: 'run_in_progress', execution_id: executionId });
  }

  async resolvePrompt(): Promise<ResolvedPrompt> {
    return parseResolvedPrompt(await this.callForJson('POST', 'harness-support/resolve-prompt', {}));
  }

  /** What has come since the prompt and nobody has been told. */
  async waitingMessages(): Promise<WaitingMessage[]> {
    return parseWaitingMessages(await this.callForJson('GET', 'harness-support/messages'));
  }

  /** The agent is told these now: the server gives them to nobody else. */
  async deliverMessages(ids: string[]): Promise<void> {
    const request: DeliveredMessagesRequest = { message_ids: ids };
    await this.call('POST', 'harness-support/messages/delivered', request);
  }

  /** The events of the run after the number `since`, as they come, until the server ends the stream. One attempt. */
  async *follow(since: number): AsyncGenerator<HeardEvent, void, void> {
    const query = new URLSearchParams({ run_ids: this.environment.runId, since: String(since) });
    const { method, url, headers } = this.request('GET', `agent/events/stream?${query.toString()}`);
    const silence = new AbortController();
    const watchdog = setTimeout(() => silence.abort(), STREAM_SILENCE_MS);
    try {
      const response = await fetch(url, { method, headers, redirect: 'manual', signal: silence.signal });
      if (response.status !== 200 || response.body === null) {
        await response.body?.cancel();
        throw new CallRefusedError(response.status, 'agent/events/stream', Buffer.alloc(0));
      }
      yield* readEvents(heard(response.body, () => void watchdog.refresh()));
    } finally {
      clearTimeout(watchdog);
    }
  }

  async openConversation(format: TranscriptFormat): Promise<string> {
    const request: ExternalConversationRequest = { format };
    return parseConversationId(
      await this.callForJson('POST', 'harness-support/external-conversation', request),
    );
  }

  /** What earlier runs of the conversation left; undefined when there is nothing. */
  async earlierTranscript(): Promise<Buffer | undefined> {
    const path = 'harness-support/transcript';
    const answer = await this.send(this.request('GET', path, undefined, TRANSFER_TIMEOUT_MS));
    if (answer.status === 404) return undefined;
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status >= 400 || location === null) return accepted(answer, path).body;
    return this.download(location);
  }

  /** @param address signed: it needs no credentials of this run, and may be somewhere else, so it gets none */
  async download(address: string): Promise<Buffer> {
    const url = new URL(address, this.environment.rootUrl);
    const { status, body } = await this.send({
      method: 'GET',
      url,
      headers: {},
      timeoutMs: TRANSFER_TIMEOUT_MS,
    });
    if (status !== 200) throw new CallRefusedError(status, 'the download', body);
    return body;
  }

  async transcriptTarget(conversationId: string): Promise<RawUploadTarget> {
    const request = { conversation_id: conversationId };
    return parseUploadTarget(await this.callForJson('POST', 'harness-support/transcript', request));
  }

  /** Keeps the bytes of a file as an artifact of the run. */
  async keepFile(path: string, mimeType: string, bytes: Uint8Array): Promise<void> {
    const { uid, target } = parseArtifactUpload(
      await this.callForJson('POST', 'harness-support/artifact-upload', {
        artifact_type: 'FILE',
        mime_type: mimeType,
      }),
    );
    try {
      await this.upload(target, bytes);
    } catch (error) {
      // It takes the bytes once: they are there, and it was the answer that was lost.
      if (!(error instanceof CallRefusedError) || error.status !== 409) throw error;
    }
    await this.report('report-artifact', {
      artifact_type: 'FILE',
      data: { artifact_uid: uid, filepath: path },
    });
  }

  /** No answer of an upload means that the execution is over: a signed address has errors of its own. */
  async upload(target: RawUploadTarget, bytes: Uint8Array): Promise<void> {
    const url = new URL(target.url, this.environment.rootUrl);
    const { method, headers } = target;
    const answer = await this.send({ method, url, headers, body: bytes, timeoutMs: TRANSFER_TIMEOUT_MS });
    if (answer.status < 200 || answer.status >= 300) {
      throw new CallRefusedError(answer.status, 'the upload', answer.body);
    }
  }

  async heartbeat(): Promise<void> {
    await this.call('POST', 'harness-support/heartbeat', {});
  }

  async reportUsage(report: UsageReport): Promise<void> {
    await this.call('POST', 'harness-support/usage', report);
  }

  async finishTask(request: FinishTaskRequest): Promise<void> {
    await this.call('POST', 'harness-support/finish-task', request);
  }

  /** @returns until when the session is to be kept, if it is */
  async reportSetUpFailure(request: SetUpFailureRequest): Promise<Date | undefined> {
    return parseSetUpFailure(await this.callForJson('POST', 'harness-support/report-setup-failure', request));
  }

  async reportShutdown(request: ReportShutdownRequest): Promise<void> {
    await this.call('POST', 'harness-support/report-shutdown', request);
  }

  /** One of the calls that agents make for themselves. */
  async report(name: string, body: object): Promise<void> {
    await this.call('POST', `harness-support/${name}`, body);
  }

  private async callForJson(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const answer = await this.call(method, path, body);
    try {
      return JSON.parse(answer.body.toString('utf8'));
    } catch {
      throw new CallRefusedError(answer.status, path, answer.body);
    }
  }

  private async call(method: 'GET' | 'POST', path: string, body?: object): Promise<HttpAnswer> {
    return accepted(await this.send(this.request(method, path, body)), path);
  }

  private request(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    timeoutMs = CALL_TIMEOUT_MS,
  ): HttpRequest {
    const { rootUrl, apiKey, runId, workloadToken } = this.environment;
    return {
      method,
      url: new URL(`v1/${path}`, rootUrl),
      headers: {
        authorization: `Bearer ${apiKey}`,
        'x-warp-cloud-agent-id': runId,
        'x-warp-ambient-workload-token': workloadToken,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      timeoutMs,
    };
  }

  private send(request: HttpRequest): Promise<HttpAnswer> {
    return retry(() => exchange(request), { patienceMs: this.patienceMs, backoff: BACKOFF }, this.clock);
  }
}

/** Tells of every chunk that passes. */
async function* heard(
  body: AsyncIterable<Uint8Array>,
  tell: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of body) {
    tell();
    yield chunk;
  }
}

function accepted(answer: HttpAnswer, path: string): HttpAnswer {
  const { status, body } = answer;
  if (status >= 200 && status < 300) return answer;
  switch (status) {
    case 401:
    case 403:
    case 404:
    case 409:
      throw new ExecutionOverError(status, path);
    default:
      throw new CallRefusedError(status, path, body);
  }
}

const systemClock: RetryClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms),
  random: () => Math.random(),
};
