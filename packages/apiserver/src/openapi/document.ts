export function openapiText(): string {
  return '{}';
}
