/** When a certificate is valid, as Node.js describes it: `Mar  4 05:06:07 2021 GMT`. */
interface Validity {
  readonly valid_from: string;
  readonly valid_to: string;
}

/**
 * What is wrong with the certificate of a server, and the remedy, by the message or the code of an error; undefined if
 * it is not about a certificate. `remedy`: what makes an authority trusted. Names no host.
 */
export function certificateProblem(error: string, remedy: string, validity?: Validity): string | undefined {
  if (/certificate has expired|CERT_HAS_EXPIRED/i.test(error)) {
    const end = validity === undefined ? NaN : Date.parse(validity.valid_to);
    if (Number.isNaN(end)) return 'its certificate has expired: renew it';
    if (end < Date.now()) return `its certificate expired on ${instantOf(end)}: renew it`;
    return 'a certificate of the authority of its certificate has expired: renew it';
  }
  if (/certificate is not yet valid|CERT_NOT_YET_VALID/i.test(error)) {
    const begin = validity === undefined ? NaN : Date.parse(validity.valid_from);
    const from = begin > Date.now() ? `is valid from ${instantOf(begin)} on` : 'is not valid yet';
    return `its certificate ${from}: check the clocks of both machines, or replace it`;
  }
  if (/altname/i.test(error))
    return 'its certificate is for another name: use a name of the certificate in the URL, or issue it for this name';
  return /certificate|_CERT/i.test(error) ? `its certificate is not trusted: ${remedy}` : undefined;
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
