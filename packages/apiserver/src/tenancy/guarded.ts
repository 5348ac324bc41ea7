/** A service whose every method takes the id of a sandbox first: also those that are yet to be written are checked. */
export function guarded<Service extends object>(service: Service, check: (id: string) => void): Service {
  return new Proxy(service, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return undefined;
      return (id: string, ...rest: unknown[]) => {
        check(id);
        return method.call(target, id, ...rest);
      };
    },
  });
}
