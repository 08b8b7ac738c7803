import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiNotFoundResponse, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.js';
import { Problem } from './problem.js';

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CATALOGUE, code);

/** The pages behind the `type` of a problem document. */
@ApiTags('Operations')
@Public()
@Controller('errors')
export class ErrorPagesController {
  @Get(':errorCode')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @ApiOperation({ operationId: 'getErrorPage', summary: 'What an error code means and how to resolve it' })
  @ApiProduces('text/html')
  @ApiOkResponse({ schema: { type: 'string' } })
  @ApiNotFoundResponse({ description: 'There is no such error code' })
  page(@Param('errorCode') errorCode: string): string {
    if (!isErrorCode(errorCode)) throw Problem.notFound('error code');
    const { status, title, retryable, meaning, resolution } = ERROR_CATALOGUE[errorCode];
    return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${errorCode} · Millwright</title>
<style>body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem}code{background:#8882;padding:.1em .3em;border-radius:.2em}</style>
<h1>${title}</h1>
<p><code>${errorCode}</code> · HTTP ${String(status)} · ${retryable ? 'can be tried again' : 'not worth trying again unchanged'}</p>
<h2>What it means</h2>
<p>${withCode(meaning)}</p>
<h2>What to do</h2>
<p>${withCode(resolution)}</p>
</html>
`;
  }
}

const withCode = (text: string): string =>
  text
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>');
