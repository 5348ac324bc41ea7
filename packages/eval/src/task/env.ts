import { VivError } from '@vivarium/sdk/error.ts';

const TEMPLATE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}$/s;

/**
 * Values of an env table with `${VAR}` and `${VAR:-default}` filled in from `host`. Only a whole value is a template; an
 * empty variable takes the default, as in a shell. Unset without a default: `task_refused` (fault user) that names the
 * variable and `field` (such as `environment.env`).
 */
export function resolveEnv(
  env: Record<string, string>,
  host: Readonly<Record<string, string | undefined>>,
  field = 'env',
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, resolved(value, host, `${field}.${name}`)]),
  );
}

function resolved(value: string, host: Readonly<Record<string, string | undefined>>, field: string): string {
  const match = TEMPLATE.exec(value);
  if (match === null) return value;
  const [, variable, preset] = match;
  if (variable === 'VIV_API_KEY' && !field.startsWith('--'))
    throw new VivError(
      'task_refused',
      `task.toml: ${field}: VIV_API_KEY would give the task every sandbox of the node`,
      {
        details: { file: 'task.toml', field, variable },
        fault: 'user',
      },
    );
  const given = Object.hasOwn(host, variable!) ? host[variable!] : undefined;
  if (preset !== undefined) return given === undefined || given === '' ? preset : given;
  if (given !== undefined) return given;
  throw new VivError('task_refused', `task.toml: ${field}: the variable ${variable} is not set here`, {
    hint: `Set ${variable} in the environment of viv, or give the task a default: \${${variable}:-…}.`,
    details: { file: 'task.toml', field, variable },
    fault: 'user',
  });
}
