/** What `viv up --domain` takes, for programs that tell clients the same. */
export { checkedDomain } from '@vivarium/protocol/domain.ts';
