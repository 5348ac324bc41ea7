import { LayerTooLarge, type NormaliseRequest, normaliseTree } from './normalise.ts';

/** Child process: one request as JSON in argv, one answer as JSON on stdout. Alone here, because koffi and blocking calls stay out of the server. */
process.stdout.write(JSON.stringify(answer(JSON.parse(process.argv[2] ?? '') as NormaliseRequest)));

function answer(request: NormaliseRequest) {
  try {
    return { result: normaliseTree(request) };
  } catch (thrown) {
    const error = thrown as NodeJS.ErrnoException;
    const code = error instanceof LayerTooLarge ? 'too_large' : (error.code ?? 'failed');
    return { error: { code, message: error.message } };
  }
}
