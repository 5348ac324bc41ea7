import type { Verification, VerifyRequest } from '@vivarium/sdk';
import { IMAGE, startTestNode, type TestNode } from './node.ts';
import { tarOf } from './tar.ts';

/** Rewards 1 when /app/answer is 42, as bash, python3 and the runner see it. */
const SCRIPT = `#!/bin/bash
cd /tests
if python3 -m pytest -q -p no:cacheprovider test_answer.py > /logs/verifier/out.txt 2>&1; then r=1; else r=0; fi
echo "{\\"reward\\": $r}" > /logs/verifier/reward.json
`;
const TEST = 'def test_answer():\n    assert open("/app/answer").read().strip() == "42"\n';
export const GRADER = 'grader/answer@1';

/** A node with a grader on it. */
export type GradingNode = {
  node: TestNode;
  /** An agent that runs these commands, and its grade. */
  graded(agent: string, request?: Partial<VerifyRequest>): Promise<Verification>;
  makeGrader(name: string, script: string): Promise<void>;
};

export async function startGradingNode(): Promise<GradingNode> {
  const node = await startTestNode();
  const makeGrader = async (name: string, script: string) => {
    const tree = { 'tests/': '', 'tests/test.sh': { content: script, mode: 0o755 }, 'tests/test_answer.py': TEST };
    await node.viv.images.importTar(name, tarOf(tree), { opaque: ['/tests'] });
  };
  await makeGrader(GRADER, SCRIPT);
  const graded = async (agent: string, request: Partial<VerifyRequest> = {}) => {
    const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
    try {
      await sandbox.exec(`mkdir -p /app && ${agent}`, { throwOnError: true });
      return await sandbox.verify({
        command: 'bash /tests/test.sh',
        grader: GRADER,
        workspace: ['/app'],
        timeoutMs: 60_000,
        ...request,
      });
    } finally {
      await sandbox.kill();
    }
  };
  return { node, graded, makeGrader };
}
