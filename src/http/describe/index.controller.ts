import { Controller, Get, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { openApiFaults } from '../../wire/api/http-faults';
import { sentTokens } from '../sent-tokens';
import { sendIndex } from './index-page';

/** For those who find the server and look around; needs no token (`docs/decisions.md#x85`). */
@Controller()
export class IndexController {
  @Get()
  root(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    sendIndex(request, reply);
  }

  /** A request with a token is one of a program that has lost its module (Document 1, Versioning). */
  @Get('1.0')
  version(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    if (sentTokens(request).length > 0) throw openApiFaults.missingModule();
    sendIndex(request, reply);
  }
}
