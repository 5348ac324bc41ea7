import type { Config } from './config.ts';
import type { Http } from './http.ts';
import type { Mux } from './mux.ts';

/** What every part of the client shares. */
export type Context = { readonly config: Config; readonly http: Http; readonly mux: Mux };
