import { driverContract } from '../contract.ts';
import { inMountNamespace, openTestNode, showUnifiedCgroupsOnly } from './test-node.ts';

// The contract on cgroup v2, also on a machine whose controllers are at v1: groups, freezing and killing are there.
if (inMountNamespace(import.meta.filename, [], showUnifiedCgroupsOnly)) {
  driverContract(openTestNode);
}
