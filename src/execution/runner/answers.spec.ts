import { describe, expect, it } from '@jest/globals';
import { parseExecutionView, parseResolvedPrompt, parseUploadTarget } from './answers.js';

const VIEW = {
  run_id: 'r',
  execution_id: 'e',
  harness: { type: 'oz', model_id: 'script' },
  heartbeat_seconds: 30,
  stall_minutes: 30,
};

describe('parseExecutionView', () => {
  it('reads what it knows and drops the rest', () => {
    expect(parseExecutionView({ ...VIEW, conversation_id: null, later_field: 1 })).toEqual({
      ...VIEW,
      mcp_servers: {},
      secrets: {},
      missing_secrets: [],
      environment_missing: false,
      attachments: [],
    });
  });

  it('reads what is to be set up', () => {
    const environment = {
      repositories: [{ owner: 'acme', repo: 'shop' }],
      git_base_url: 'https://git.example',
      setup_commands: ['npm ci'],
    };
    const attachments = [
      { attachment_id: 'a', file_name: 'trace.log', mime_type: 'text/plain', download_url: '/objects/a' },
    ];
    expect(parseExecutionView({ ...VIEW, environment, attachments })).toMatchObject({
      environment,
      attachments,
    });
  });

  it.each(['..', '.', 'a/b', '', 'a\\b'])(
    'refuses a file that would lie outside of its directory: %j',
    (name) => {
      const attachment = { attachment_id: 'a', file_name: name, mime_type: 'x/y', download_url: '' };
      expect(() => parseExecutionView({ ...VIEW, attachments: [attachment] })).toThrow(
        'file_name is not the name of a file',
      );
    },
  );

  it.each([
    ['no object', 'x', 'execution is not an object'],
    ['no id', { ...VIEW, run_id: undefined }, 'run_id is not a string'],
    ['an unknown harness', { ...VIEW, harness: { type: 'x', model_id: '' } }, '"x" is not one of oz, claude'],
    ['no heartbeat', { ...VIEW, heartbeat_seconds: 0 }, 'heartbeat_seconds is not a positive number'],
  ])('refuses %s', (_, answer, problem) => {
    expect(() => parseExecutionView(answer)).toThrow(problem);
  });
});

describe('parseResolvedPrompt', () => {
  it('reads the texts that are there', () => {
    expect(parseResolvedPrompt({ prompt: 'p', context: null })).toEqual({ prompt: 'p' });
    expect(() => parseResolvedPrompt({})).toThrow('prompt is not a string');
  });
});

describe('parseUploadTarget', () => {
  const target = { url: 'http://x/y', method: 'PUT', headers: null, fields: null };

  it('reads a target for raw bytes', () => {
    expect(parseUploadTarget(target)).toEqual({ url: 'http://x/y', method: 'PUT', headers: {} });
    expect(parseUploadTarget({ ...target, headers: { 'Content-Type': 'a/b' } }).headers).toEqual({
      'Content-Type': 'a/b',
    });
  });

  it('refuses a form', () => {
    const fields = [{ name: 'file', value: { kind: 'content_data' } }];
    expect(() => parseUploadTarget({ ...target, fields })).toThrow('multipart form');
  });

  it('refuses another method', () => {
    expect(() => parseUploadTarget({ ...target, method: 'PATCH' })).toThrow(
      '"PATCH" is not one of PUT, POST',
    );
  });
});
