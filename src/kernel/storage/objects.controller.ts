import { Controller, Get, HttpCode, Param, Put, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Clock } from '../clock.js';
import { Problem } from '../errors/problem.js';
import { Public } from '../http/access.js';
import { Keyring } from '../security/keyring.js';
import { readToken } from '../security/signed-token.js';
import type { ObjectGrant } from './object-grant.js';
import { ObjectStorage } from './object-storage.js';

/** Serves the URLs that {@link FileSystemStorage} signs. The URL itself is the credential; with S3 nobody is sent here. */
@ApiExcludeController()
@Public()
@Controller('objects')
export class ObjectsController {
  constructor(
    private readonly storage: ObjectStorage,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
  ) {}

  @Get(':token')
  async download(
    @Param('token') token: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    const grant = this.grant(token, 'get');
    const object = await this.storage.open(grant.key);
    if (object === undefined) throw Problem.notFound('object');
    // Downloaded, never displayed: stored HTML or SVG must not run on this origin.
    response.set({
      'Cache-Control': 'private, no-store',
      'Content-Security-Policy': "sandbox; default-src 'none'",
    });
    return new StreamableFile(object.body, {
      type: grant.contentType,
      length: object.sizeBytes,
      disposition: `attachment; filename="${grant.filename.replace(/[^A-Za-z0-9._-]/g, '_')}"`,
    });
  }

  @Put(':token')
  @HttpCode(200)
  async upload(@Param('token') token: string, @Req() request: Request): Promise<void> {
    const grant = this.grant(token, 'put');
    await this.storage.put(grant.key, request, grant.maxBytes);
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
