import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { Problem } from '../../kernel/errors/problem.js';
import { Public } from '../../kernel/http/access.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { PAGE, STYLE } from '../page/page-shell.js';

/** The modules of the page, as the build has made them; they import nothing but one another. */
const SCRIPTS = new Set(['run-page.js', 'render-run.js', 'markup.js']);

/** Ours alone, and nothing inline: what a run's text would smuggle in finds nothing that executes it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The page behind a run's `session_link`. It is the same for every run and says nothing of it; the reader's key does. */
@ApiExcludeController()
@Public()
@Controller('runs')
export class RunPageController {
  @Get('page/style.css')
  @Header('Content-Type', 'text/css; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  style(): string {
    return STYLE;
  }

  @Get('page/:script')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  script(@Param('script') name: string): Promise<string> {
    if (!SCRIPTS.has(name)) throw Problem.notFound('script');
    return readFile(new URL(`../page/${name}`, import.meta.url), 'utf8');
  }

  @Get(':runId')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  @Header('Content-Security-Policy', POLICY)
  @Header('Referrer-Policy', 'no-referrer')
  page(@Param('runId', UuidParam) _runId: string): string {
    return PAGE;
  }
}
