import { driverContract } from '../contract.ts';
import { inMountNamespace, openTestNode } from './test-node.ts';

if (inMountNamespace(import.meta.filename)) {
  driverContract(openTestNode);
}
