import { type Directory } from './directory';
import { type NetworkFile } from './network-file';

/**
 * The reference data as a network file whose import changes nothing. It has no list of tokens: only their hashes are known.
 * Connections and mappings whose target was removed are left out: they have no effect.
 */
export function exportNetwork({ organisations, programs, categories }: Directory): NetworkFile {
  const sites = sorted(programs.allSites());
  const feeds = sorted(programs.allFeeds());
  return {
    organisations: sorted(organisations.all()).map(({ id, kind, name }) => ({ id, kind, name })),
    programs: sorted(programs.all()).map((program) => ({
      id: program.id,
      organisationId: program.organisationId,
      name: program.name,
      country: program.country,
      currency: program.currency,
      logoUrl: program.logoUrl,
      status: program.status,
      acceptsClaims: program.acceptsClaims,
      daysToAutoApprove: program.daysToAutoApprove,
      events: program.events.map(({ commission, ...event }) => ({
        ...event,
        // Money is in minor units here, in the file as operators write it.
        ...(commission === undefined
          ? {}
          : {
              commission:
                'fixed' in commission
                  ? { fixed: commission.fixed / 10 ** (commission.decimals ?? 2) }
                  : commission,
            }),
      })),
    })),
    sites: sites.map(({ id, organisationId, name, url }) => ({ id, organisationId, name, url })),
    connections: sites.flatMap(({ id: siteId }) =>
      [...programs.connectionsOf(siteId)]
        .filter((programId) => programs.get(programId) !== undefined)
        .sort((a, b) => a - b)
        .map((programId) => ({ siteId, programId })),
    ),
    feeds: feeds.map(({ id, programIds, name, language, active, visible, secret, sendToNewPF }) => ({
      id,
      programIds: [...programIds],
      name,
      language,
      active,
      visible,
      secret,
      sendToNewPF,
    })),
    categories: sorted(categories.all()).map(({ id, parentId, names }) => ({
      id,
      parentId,
      names: { ...names },
    })),
    mappings: feeds.flatMap(({ id: feedId }) =>
      [...categories.mappingsOf(feedId)]
        .filter(([, categoryId]) => categories.get(categoryId) !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, categoryId]) => ({ feedId, name, categoryId })),
    ),
  };
}

function sorted<Entity extends { readonly id: number | string }>(
  entities: Iterable<Entity>,
): readonly Entity[] {
  return [...entities].sort((a, b) => Number(a.id) - Number(b.id));
}
