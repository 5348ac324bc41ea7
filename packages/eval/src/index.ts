export * from './task/index.ts';
