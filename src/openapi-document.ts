import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemDocument } from './kernel/http/problem-document.dto.js';
import type { Application, Request, Response } from 'express';

/** The OpenAPI description of the service, made from the decorators. */
export function openApiDocument(app: NestExpressApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Millwright')
    .setDescription(
      'Start agent runs, follow them while they work, and read back everything that happened. ' +
        'Every error is `application/problem+json` (RFC 9457). The routes below `/v1` answer below `/api/v1` as well.',
    )
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    // Relative: Swagger UI then calls whichever address it was opened at.
    .addServer('/')
    .addTag('Runs', 'Start, list, read and cancel runs')
    .addTag('Events', 'What happens to runs, in one order over all of them')
    .addTag('Schedules', 'Run agents at certain times')
    .addTag('Conversations', 'What agents said and did')
    .addTag('Artifacts', 'What runs left behind')
    .addTag('Scores', 'What judges made of runs, and what they grade them by')
    .addTag('Account', 'Who calls, and with which keys')
    .addTag('Teams', 'Users, teams and their members')
    .addTag('Agent identities', 'The agents that runs are executed as')
    .addTag('Environments', 'Where runs work, and who may use them')
    .addTag('Skills', 'What agents can be asked to do')
    .addTag('Models', 'What agents think with')
    .addTag('Secrets', 'Credentials that executions are given')
    .addTag('Factories', 'What groups webhooks and automations')
    .addTag('Automations', 'What starts runs for events elsewhere')
    .addTag('Definitions', 'Factories as files')
    .addTag('Webhooks', 'Where senders deliver, and what they delivered')
    .addTag('Workers', 'The machines of a team that execute its runs')
    .addTag('Harness support', 'What the agent of an execution calls, with the key of its run')
    .addTag('Webhook ingress', 'Where the systems of others deliver to')
    .addTag('Operations', 'Health, metrics and the meaning of error codes')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key' })
    .build();
  const document = SwaggerModule.createDocument(app, builder, { extraModels: [ProblemDocument] });
  describeErrors(document);
  return document;
}

/** Every error of every route has the same body. */
function describeErrors(document: OpenAPIObject): void {
  const schema = { $ref: getSchemaPath(ProblemDocument) };
  for (const path of Object.values(document.paths)) {
    for (const operation of [path.get, path.put, path.post, path.patch, path.delete]) {
      for (const [status, response] of Object.entries(operation?.responses ?? {})) {
        if (Number(status) < 400 || response === undefined || '$ref' in response) continue;
        response.content ??= { 'application/problem+json': { schema } };
      }
    }
  }
}

/** Serves the document at `/openapi.json` and `/v1/openapi.json`, and Swagger UI at `/docs`. */
export function serveOpenApi(app: NestExpressApplication): void {
  let document: OpenAPIObject | undefined;
  const getDocument = (): OpenAPIObject => (document ??= openApiDocument(app));
  const serve = (_request: Request, response: Response): void => {
    response.json(getDocument());
  };
  (app.getHttpAdapter().getInstance() as Application).get(['/openapi.json', '/v1/openapi.json'], serve);
  SwaggerModule.setup('docs', app, getDocument, {
    customSiteTitle: 'Millwright API',
    raw: false,
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true },
  });
}
