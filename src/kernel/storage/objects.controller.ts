import { Controller, Get, HttpCode, Logger, Param, Put, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { create as contentDisposition } from 'content-disposition';
import type { Request, Response } from 'express';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import parseRange from 'range-parser';
import { Clock } from '../clock.js';
import { Problem } from '../errors/problem.js';
import { Public } from '../http/access.js';
import { Keyring } from '../security/keyring.js';
import { readToken } from '../security/signed-token.js';
import type { ObjectGrant } from './object-grant.js';
import { type ByteRange, type ObjectStat, ObjectStorage } from './object-storage.js';
import { DamagedObjectError } from './sealed-file.js';

/** Serves the URLs that `FileSystemStorage` signs. The URL itself is the credential; with S3 nobody is sent here. */
@ApiExcludeController()
@Public()
@Controller('objects')
export class ObjectsController {
  private readonly logger = new Logger(ObjectsController.name);

  constructor(
    private readonly storage: ObjectStorage,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
  ) {}

  /** Express answers HEAD with it as well. One range is honoured (RFC 9110, 14.2); of several, the whole is sent instead. */
  @Get(':token')
  async download(
    @Param('token') token: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const grant = this.grant(token, 'get');
    const object = await this.storage.stat(grant.key);
    if (object === undefined) throw Problem.notFound('object');
    const range = rangeOf(request, object);
    if (range === 'unsatisfiable') {
      response
        .status(416)
        .set('Content-Range', `bytes */${String(object.sizeBytes)}`)
        .end();
      return;
    }
    const length = range === undefined ? object.sizeBytes : range.end - range.start + 1;
    // Downloaded, never displayed: stored HTML or SVG must not run on this origin.
    const headers = {
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-store',
      'Content-Disposition': contentDisposition(grant.filename),
      'Content-Length': String(length),
      'Content-Security-Policy': "sandbox; default-src 'none'",
      'Content-Type': grant.contentType,
      'X-Content-Type-Options': 'nosniff',
      ETag: quoted(object.etag),
      ...(range === undefined
        ? {}
        : {
            'Content-Range': `bytes ${String(range.start)}-${String(range.end)}/${String(object.sizeBytes)}`,
          }),
    };
    const send = () => response.writeHead(range === undefined ? 200 : 206, headers);
    if (request.method === 'HEAD') {
      send().end();
      return;
    }
    const opened = await this.storage.open(grant.key, range);
    // Replaced or deleted in the meantime: the next request finds what there is then.
    if (opened?.etag !== object.etag) {
      opened?.body.destroy();
      throw new Problem('resource_unavailable', { detail: 'The object has just changed' });
    }
    // The status is sent once the first bytes have proved to be whole.
    await firstBytes(opened.body);
    send();
    await pipeline(opened.body, response).catch((error: unknown) => {
      // The reader went away, or what follows is damaged: the connection has been cut, so nobody takes the part for the whole.
      if (error instanceof DamagedObjectError) {
        this.logger.error({ err: error, object_key: grant.key }, 'an object is damaged');
      }
    });
  }

  @Put(':token')
  @HttpCode(200)
  async upload(@Param('token') token: string, @Req() request: Request): Promise<void> {
    const grant = this.grant(token, 'put');
    if (request.get('content-type')?.toLowerCase() !== grant.contentType.toLowerCase()) {
      throw Problem.invalid([{ field: 'Content-Type', message: `must be ${grant.contentType}` }]);
    }
    if (Number(request.get('content-length') ?? 0) > grant.maxBytes) {
      throw new Problem('payload_too_large', { detail: `at most ${String(grant.maxBytes)} bytes` });
    }
    // Left open when storing fails: the connection that the bytes come on is the one that the answer goes on.
    const body = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
    try {
      await this.storage.put(grant.key, body, grant.maxBytes, { once: grant.once });
    } catch (error) {
      // What is still under way is read and dropped: the connection serves the next request.
      request.resume();
      throw error;
    }
  }

  private grant<Operation extends ObjectGrant['operation']>(
    token: string,
    operation: Operation,
  ): Extract<ObjectGrant, { operation: Operation }> {
    const grant = readToken(this.keyring, 'object-url', token) as ObjectGrant | undefined;
    if (grant?.operation !== operation) {
      throw new Problem('not_authorized', {
        detail: 'The URL was not signed by this service for this request',
      });
    }
    if (grant.expiresAt <= this.clock.now().getTime()) {
      throw new Problem('not_authorized', { detail: 'The URL has expired; ask for a new one' });
    }
    return grant as Extract<ObjectGrant, { operation: Operation }>;
  }
}

const quoted = (etag: string): string => `"${etag}"`;

/** The part that the request asks for; undefined for the whole. Range is defined for GET alone (RFC 9110, 14.2). */
function rangeOf(request: Request, object: ObjectStat): ByteRange | 'unsatisfiable' | undefined {
  const header = request.get('range');
  const ifRange = request.get('if-range');
  if (
    request.method !== 'GET' ||
    header === undefined ||
    (ifRange !== undefined && ifRange !== quoted(object.etag))
  )
    return undefined;
  const ranges = parseRange(object.sizeBytes, header);
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length > 1) return undefined;
  return ranges[0];
}

/** @throws what reading fails with before it has yielded anything */
async function firstBytes(body: Readable): Promise<void> {
  await once(body, 'readable');
}
