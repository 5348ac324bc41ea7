import { inMountNamespace, showUnifiedCgroupsOnly } from '../container/test-node.ts';
import { driverContract } from '../contract.ts';
import { openFnNode } from './test-fn-node.ts';

// The contract on cgroup v2, also on a machine whose controllers are at v1.
if (inMountNamespace(import.meta.filename, [], showUnifiedCgroupsOnly)) driverContract(openFnNode);
