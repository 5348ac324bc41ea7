export type { Edge } from './edge.ts';
export { EDGE_LIMITS, type EdgeOptions, type OpenEdge, openEdge } from './open-edge.ts';
