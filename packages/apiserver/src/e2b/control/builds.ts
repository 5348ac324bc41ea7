import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { VivError } from '@vivarium/protocol';
import { E2bBuildStart, E2bLogQuery, E2bStatusQuery } from '@vivarium/protocol/e2b/template.ts';
import type { z } from 'zod';
import { BodyChunks } from '../../http/body-chunks.ts';
import type { BuildRow } from '../store/build-table.ts';
import { logView, ofLevel } from './builds-log.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { ownTemplate } from './templates-find.ts';
import { templatesOf } from './templates-service.ts';

const HASH = /^[0-9a-f]{64}$/;
/** Entries of the log that an error brings along. */
const REASON_ENTRIES = 20;

/** Builds of a template: files sent, started, followed. */
export const buildRoutes: ControlRoute[] = [
  route('GET /templates/{templateID}/files/{hash}', { status: 201, run: fileLink }),
  route('PUT /templates/uploads/{token}', { auth: 'none', status: 201, run: upload }),
  route('POST /v2/templates/{templateID}/builds/{buildID}', {
    status: 202,
    body: E2bBuildStart,
    run: (call) => {
      templatesOf(call.context).builds.start(buildOf(call), call.body, call.key);
      return {};
    },
  }),
  route('GET /templates/{templateID}/builds/{buildID}/status', { status: 200, query: E2bStatusQuery, run: status }),
  route('GET /templates/{templateID}/builds/{buildID}/logs', { status: 200, query: E2bLogQuery, run: logs }),
];

/** Says whether the archive is there, and where it may be sent in any case: a client may want to send it again. */
function fileLink({ context, key, params, req }: ControlCall): object {
  ownTemplate(context, key, params.templateID!);
  const { files } = templatesOf(context);
  const hash = params.hash!;
  if (!HASH.test(hash)) throw new VivError('invalid_argument', `"${hash.slice(0, 100)}" is no hash: 64 hex digits`);
  return { present: files.has(key.id, hash), url: `${originOf(req)}/templates/uploads/${files.link(key.id, hash)}` };
}

async function upload({ context, params, req }: ControlCall): Promise<object> {
  await templatesOf(context).files.receive(params.token!, new BodyChunks(req));
  return {};
}

function status(call: ControlCall<unknown, z.output<typeof E2bStatusQuery>>): object {
  const { context, query } = call;
  const { id, template, status: state, reason } = buildOf(call);
  const entries = ofLevel(templatesOf(context).builds.log(id), query.level);
  const shown = entries.slice(query.logsOffset, query.logsOffset + query.limit).map(logView);
  return {
    templateID: template,
    buildID: id,
    status: state,
    logEntries: shown,
    logs: [],
    ...(reason && {
      reason: {
        message: reason.message,
        ...(reason.step !== '' && { step: reason.step }),
        logEntries: entries
          .filter(({ step }) => step === reason.step)
          .slice(-REASON_ENTRIES)
          .map(logView),
      },
    }),
  };
}

function logs(call: ControlCall<unknown, z.output<typeof E2bLogQuery>>): object {
  const { cursor, limit, direction, level } = call.query;
  const entries = ofLevel(templatesOf(call.context).builds.log(buildOf(call).id), level);
  if (direction === 'forward')
    return {
      logs: entries
        .filter(({ atMs }) => atMs >= (cursor ?? 0))
        .slice(0, limit)
        .map(logView),
    };
  const before = entries.filter(({ atMs }) => cursor === undefined || atMs <= cursor);
  return { logs: before.slice(-limit).reverse().map(logView) };
}

/** What a build said and why it failed is its owner's business, also where its template is public. */
function buildOf({ context, key, params }: ControlCall): BuildRow {
  const template = ownTemplate(context, key, params.templateID!);
  const build = context.store.builds.get(params.buildID!);
  if (build?.template === template.id) return build;
  throw new VivError('image_not_found', `build '${params.buildID!.slice(0, 100)}' not found`);
}

/** How the client reached us. */
function originOf(req: IncomingMessage): string {
  const forwarded = req.headers['x-forwarded-proto'];
  const secure = (req.socket as TLSSocket).encrypted === true || forwarded === 'https';
  return `${secure ? 'https' : 'http'}://${req.headers.host ?? 'localhost'}`;
}
