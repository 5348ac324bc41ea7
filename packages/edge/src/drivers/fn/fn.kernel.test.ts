import { inMountNamespace } from '../container/test-node.ts';
import { driverContract } from '../contract.ts';
import { openFnNode } from './test-fn-node.ts';

if (inMountNamespace(import.meta.filename)) driverContract(openFnNode);
