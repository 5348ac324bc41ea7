export { type BuildPlan, type BuildReport, build } from './build.ts';
export type { Dockerfile, Instruction } from './dockerfile/instruction.ts';
export { DOCKERFILE_BYTES_MAX, parseDockerfile } from './dockerfile/parser.ts';
export type { Selected, Source } from './files/selection.ts';
export { baseOf, type FileNode, FileTree, parentOf } from './files/tree.ts';
export { type BuildStep, type StepAction, stepsDockerfile } from './steps/build-step.ts';
export {
  type Base,
  type CopyAction,
  type Directory,
  HEREDOC_PATH,
  type RunAction,
  type RunMount,
  type Step,
  type Workshop,
} from './workshop.ts';
