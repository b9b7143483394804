import { bareErrorList } from '../../wire/api/errors';
import { elementSchema, schemaFiles, schemaOf } from '../../wire/record/document';
import { type SchemaFiles } from '../../wire/xml/xsd';
import { CLAIM_FILES as FILES, claimOperations } from './operations';
import { postedClaim, postedRuling } from './posted-fields';

/**
 * The XML schemas of claims. Posted lists have a namespace, and elements of fields one of their own (Document 3, Claim posted by
 * a publisher). Error lists of a deletion have a schema of their own too (Document 3, Errors).
 */
export const claimSchemas: SchemaFiles = (vendor) => {
  const { [FILES.input]: input, [FILES.legacyInput]: legacyInput, ...others } = schemaFiles(claimOperations);
  const namespaceOf = (part: string) => `urn:com:${vendor}:uts:openapi:parsing:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: FILES.common };
  const posted = { elements: {}, namespace: namespaceOf('input'), imports: { cm: common } };
  return {
    [FILES.common]: { ...COMMON, namespace: common.namespace },
    [FILES.input]: { ...posted, ...input },
    [FILES.legacyInput]: { ...posted, ...legacyInput },
    'ClaimDeletionErrors_v1_0.xsd': schemaOf(bareErrorList, { file: '' }, 'answered'),
    ...others,
  };
};

const COMMON = elementSchema({ ...postedRuling.fields, ...postedClaim.fields }, 'posted');
