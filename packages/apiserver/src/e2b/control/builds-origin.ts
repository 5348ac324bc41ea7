import { isImageName, type Key, VivError } from '@vivarium/protocol';
import type { E2bBuildStart } from '@vivarium/protocol/e2b/template.ts';
import type { E2bContext } from '../context.ts';
import type { BuildOrigin } from './builds-steps.ts';
import { findTemplate } from './template-source.ts';
import { builtinImage, builtinOfImage } from './templates-builtin.ts';
import { taggedBuild } from './templates-find.ts';
import type { StartCommands } from './templates-start.ts';

const HOME = '/home/user';
const NOTHING: StartCommands = { startCmd: '', readyCmd: '', ports: [] };

/** What a build starts from: another template, or an image of this node or of a registry. Throws `build_failed` for the base step. */
export async function buildOrigin(
  context: E2bContext,
  key: Key,
  { fromImage, fromTemplate, fromImageRegistry }: E2bBuildStart,
  warn: (message: string) => void,
): Promise<BuildOrigin & { start: StartCommands }> {
  if (fromTemplate && fromImage) throw failed('a build is from an image or from a template, not both');
  if (fromTemplate) return template(context, key, fromTemplate);
  if (!fromImage) throw failed('a build needs fromImage or fromTemplate');
  if (/[\s$\\"'\0]/.test(fromImage)) throw failed(`"${fromImage.slice(0, 200)}" is no reference of an image`);
  if (fromImageRegistry)
    warn('registry credentials of a request are not used: the node brings images as its registries.json says');
  const builtin = builtinOfImage(fromImage);
  const label = `FROM ${fromImage}`;
  if (builtin !== undefined) {
    const image = builtinImage(context.edge, builtin);
    if (!image)
      throw failed(
        `${fromImage} is template ${builtin}, which is not installed on this node: viv template install ${builtin}`,
      );
    return { image, label, prepared: true, home: HOME, start: NOTHING };
  }
  // A template's image by its own name: only for who may use the template.
  if (isImageName(fromImage) && fromImage.startsWith('e2b/')) {
    const { image } = source(context, key, fromImage);
    return { image, label, prepared: true, home: HOME, start: NOTHING };
  }
  return { image: fromImage, label, prepared: false, home: HOME, start: NOTHING };
}

function template(context: E2bContext, key: Key, name: string): BuildOrigin & { start: StartCommands } {
  const { image } = source(context, key, name);
  const { startCmd, readyCmd, ports } = taggedBuild(context, key, name)?.build ?? NOTHING;
  const prepared = image.startsWith('e2b/');
  return {
    image,
    label: `FROM TEMPLATE ${name}`,
    prepared,
    home: prepared ? null : HOME,
    start: { startCmd, readyCmd, ports },
  };
}

function source(context: E2bContext, key: Key, name: string) {
  try {
    return findTemplate(context, name, key);
  } catch (thrown) {
    throw failed(VivError.from(thrown).message, thrown);
  }
}

function failed(message: string, cause?: unknown): VivError {
  return new VivError('build_failed', message, { details: { step: 'base' }, cause });
}
